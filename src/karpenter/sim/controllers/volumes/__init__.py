"""Stand-ins for what makes, binds, attaches and protects volumes, and for the controllers of the EBS driver.

Here: claims and volumes bound to each other, disks made and deleted, attached and detached, finalizers, claims for
ephemeral volumes. What they decide is in functions of their own, without an API. Never: which node a pod goes to (that
is the scheduler's), or what a kubelet mounts.
"""

from karpenter.sim.controllers.volumes.addon import StorageAddon
from karpenter.sim.controllers.volumes.attaching import AttachDetach
from karpenter.sim.controllers.volumes.binder import ClaimBinder, VolumeBinder
from karpenter.sim.controllers.volumes.ebs import DiskAttacher, DiskDeleter, DiskProvisioner
from karpenter.sim.controllers.volumes.ephemeral import EphemeralVolumes
from karpenter.sim.controllers.volumes.protection import ClaimProtection, VolumeProtection

__all__ = [
    "AttachDetach",
    "ClaimBinder",
    "ClaimProtection",
    "DiskAttacher",
    "DiskDeleter",
    "DiskProvisioner",
    "EphemeralVolumes",
    "StorageAddon",
    "VolumeBinder",
    "VolumeProtection",
]
