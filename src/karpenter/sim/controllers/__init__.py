"""Stand-ins for the controllers of kube-controller-manager and the cloud's node controllers.

Here: Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs, CronJobs, volumes, disruption budgets, garbage
collection, pod and namespace cleaning, node health. Each is level-triggered and keeps nothing that it could not work
out again after a restart. What they decide is in functions of their own, without an API. Never: scheduling, kubelets,
or anything Karpenter does.
"""

from karpenter.sim.controllers.together import node_controllers, volume_controllers, workload_controllers
from karpenter.sim.controllers.volumes import StorageAddon

__all__ = ["StorageAddon", "node_controllers", "volume_controllers", "workload_controllers"]
