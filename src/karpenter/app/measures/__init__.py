"""Gauges of what there is, written when `/metrics` is read: nodes, pods, pools, conditions; and how long pods waited.

What happens (counters, durations of our own work) is counted where it happens. Families that have a sample for every
object can be switched off, since large clusters pay for each. Never: decisions. Source: spec v1 §5.3.
"""
