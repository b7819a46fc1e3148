"""What happens to a cluster over days: read from a file, played against an API and a market, and kept account of.

Here: what users, autoscalers and clouds do, and what came of it. Never: anything of the operator's; it is judged by
what it does to the cluster.
"""
