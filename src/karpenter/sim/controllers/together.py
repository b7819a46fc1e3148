"""All controllers of the control plane."""

from __future__ import annotations

from karpenter.runtime.controller import Runnable
from karpenter.sim.controllers.batch import CronJobs, FinishedJobs, Jobs
from karpenter.sim.controllers.cloudnodes import CloudNodeLifecycle, CloudNodes
from karpenter.sim.controllers.daemonsets import DaemonSets
from karpenter.sim.controllers.deployments import Deployments
from karpenter.sim.controllers.disruption import Disruption
from karpenter.sim.controllers.eviction import TaintEviction
from karpenter.sim.controllers.garbage import GarbageCollector
from karpenter.sim.controllers.namespaces import Namespaces
from karpenter.sim.controllers.nodelifecycle import MONITOR_S, NodeMonitor, NodeTaints
from karpenter.sim.controllers.podgc import PodCollector
from karpenter.sim.controllers.replicasets import ReplicaSets
from karpenter.sim.controllers.serviceaccounts import ServiceAccounts
from karpenter.sim.controllers.stateful import StatefulSets
from karpenter.sim.controllers.volumes import (
    AttachDetach,
    ClaimBinder,
    ClaimProtection,
    DiskAttacher,
    DiskDeleter,
    DiskProvisioner,
    EphemeralVolumes,
    VolumeBinder,
    VolumeProtection,
)
from karpenter.sim.disks import DiskPace
from karpenter.sim.kubelet.boot import MachineSource
from karpenter.sim.standins import Context, StandIn


def workload_controllers(context: Context) -> tuple[Runnable, ...]:
    """Return the controllers of kube-controller-manager, those of nodes left out."""
    return (
        StandIn(Deployments(context), context),
        StandIn(ReplicaSets(context), context),
        StandIn(StatefulSets(context), context),
        StandIn(DaemonSets(context), context),
        StandIn(Jobs(context), context),
        StandIn(CronJobs(context), context),
        StandIn(FinishedJobs(context), context),
        StandIn(Disruption(context), context),
        StandIn(GarbageCollector(context), context, workers=8),
        StandIn(Namespaces(context), context),
        StandIn(ServiceAccounts(context), context),
        PodCollector(context),
    )


def volume_controllers(context: Context, pace: DiskPace) -> tuple[Runnable, ...]:
    """Return the controllers of volumes, those of the EBS driver included."""
    return (
        StandIn(ClaimBinder(context), context),
        StandIn(VolumeBinder(context), context),
        StandIn(ClaimProtection(context), context),
        StandIn(VolumeProtection(context), context),
        StandIn(EphemeralVolumes(context), context),
        StandIn(AttachDetach(context), context),
        StandIn(DiskProvisioner(context, pace), context),
        StandIn(DiskDeleter(context, pace), context),
        StandIn(DiskAttacher(context, pace), context),
    )


def node_controllers(context: Context, source: MachineSource, *, monitor_s: float = MONITOR_S) -> tuple[Runnable, ...]:
    """Return the controllers of nodes, the cloud's included; every `monitor_s` they look for nodes that died."""
    return (
        StandIn(NodeTaints(context), context),
        StandIn(TaintEviction(context), context),
        StandIn(CloudNodes(context), context),
        NodeMonitor(context, monitor_s=monitor_s),
        CloudNodeLifecycle(context, source, monitor_s=monitor_s),
    )
