"""Every way out of the process.

Here: Kubernetes clients, watches, queues, the controller loop, clock, events, metrics, logs. Never: decisions on nodes.
"""
