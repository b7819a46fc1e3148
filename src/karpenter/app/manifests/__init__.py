"""Manifests and kubectl dumps, read into the model without a server.

Here: files to objects, with every mistake named by file, object and field; what admission and the workload controllers
would have added. Never: what the objects are then used for.
"""
