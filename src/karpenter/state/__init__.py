"""One cache of the cluster, one writer, cheap snapshots.

Here: what is. Never: what should be.
"""
