"""The what-if: the operator's own planning, offline, on manifests instead of a cluster.

Here: from input to snapshot, from solution to an answer in words, tables and JSON. Never: decisions of its own; what is
planned here is what the operator would plan.
"""
