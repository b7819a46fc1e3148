"""A cluster and a cloud in this process.

Here: API server, scheduler, kubelet, workload controllers, market. Never: the solver, so that it can disagree with it.
"""
