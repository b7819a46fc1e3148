"""The AWS APIs of the simulated market, over HTTP: what the real SDK finds when its endpoint is this process.

Lives here: the wire protocols, driven by the service models inside botocore, and AWS's view of `sim.market`: its names,
filters, errors, limits. Never here: how the market decides, or anything that only Karpenter knows.
"""
