"""The simulated market: one account of a cloud with its capacity, prices, delays, interruptions and faults.

Lives here: what happens on the seller's side, as a function of seed and clock, with two faces to come (`sim.cloud` is
the `CloudProvider`, the EC2 wire protocol the other). Never here: Kubernetes objects, or choices a buyer makes.
"""
