"""Karpenter in Python: watches for pods that fit nowhere, launches the nodes they need, and takes back what is idle.

Twelve packages, each with a charter in its `__init__`; `importlinter.ini` says which may import which.
"""

from importlib.metadata import version

__version__ = version("pykarpenter")
