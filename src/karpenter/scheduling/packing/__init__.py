"""Cheap ways to fill new machines: arrays in, patterns out.

Here are numbers only: shapes (equal requests), offers (a type somewhere at a price) and patterns (copies of each shape
on one machine of an offer). Never here: pods, pools, labels.
"""
