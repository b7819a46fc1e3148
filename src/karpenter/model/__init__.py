"""The nouns of the domain: API objects, labels, quantities, requirements, taints, instance types.

Lives here: immutable values, their algebra, and the codecs between manifests and the one internal (hub) model.
Never here: I/O, clocks, randomness, decisions about where pods go or which node leaves.
"""
