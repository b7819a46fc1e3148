"""The demo's cluster: API server, simulated cloud, kubelets and our operator, put together in one process.

Here: composition, what is printed and served, what survives a restart. Never: how any of the parts works.
"""
