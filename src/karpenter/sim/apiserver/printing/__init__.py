"""What `kubectl get` shows of every kind: the server prints, kubectl only lays out.

Here: columns and cells, as a real API server prints them. Never: HTTP, and what objects mean.
"""

from karpenter.sim.apiserver.printing.registry import printer_of
from karpenter.sim.apiserver.printing.table import Column, Printer

__all__ = ["Column", "Printer", "printer_of"]
