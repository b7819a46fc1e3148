"""A stand-in for the kubelets of all simulated machines.

Here: nodes that register, become ready and beat; pods that start, run and stop; devices that appear late. Never: which
machine runs what (that is the scheduler's), how long machines take to boot (the market's), or containers.
"""

from karpenter.sim.kubelet.boot import Machine, MachineSource, Power, PowerChange
from karpenter.sim.kubelet.kubelets import Kubelets
from karpenter.sim.kubelet.nodes import NodeRhythm
from karpenter.sim.kubelet.podstatus import Pace

__all__ = ["Kubelets", "Machine", "MachineSource", "NodeRhythm", "Pace", "Power", "PowerChange"]
