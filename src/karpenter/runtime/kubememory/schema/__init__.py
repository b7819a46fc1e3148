"""The shape of objects: Kubernetes' own types from a generated table, custom ones from their definitions.

Here: what fields there are, what lists and patches go by, defaults and rules of CustomResourceDefinitions, all pure.
Never: what a kind means (strategies) and who may change it.
"""
