"""Karpenter in Python: watches for pods that fit nowhere, launches the nodes they need, and takes back what is idle.

Twelve packages, each with a charter in its `__init__`; `importlinter.ini` says which may import which.
"""

import os

# The solver's matrices are small: threads would spend more time waiting for each other, busily, than computing.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

__version__ = "0.1.0"
