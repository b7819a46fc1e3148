"""What a new node says about itself. Source: spec v1alpha5 §3.9 (AWS-72 … AWS-74), spec v1 A-41, A-49."""

from __future__ import annotations

from karpenter.model import labels
from karpenter.model.aws.machinelabels import USUAL
from karpenter.model.aws.userdata.bootstrap import node_labels
from karpenter.model.instancetype import InstanceType
from karpenter.model.nodeclaim import NodeClaim
from karpenter.model.taints import UNREGISTERED
from karpenter.sim.market.instances import Boot


def boot_of(claim: NodeClaim, found: InstanceType, own: dict[str, str], *, os_image: str, kubelet_version: str) -> Boot:
    """Return what the node of a claim registers as; `own` are its instance labels.

    The kubelet is told the claim's labels, as user data would; it finds out the rest.
    Old spellings of labels are there too, as on real nodes: schedulers compare text.
    """
    told = node_labels(claim, own[labels.CAPACITY_TYPE])
    known = {key: own[key] for key in (labels.INSTANCE_TYPE, labels.ZONE, labels.REGION) if key in own}
    platform: dict[str, str] = {key: own.get(key, usual) for key, usual in USUAL.items()}
    modern = known | platform
    old = {alias: modern[key] for alias, key in labels.ALIASES.items() if key in modern}
    return Boot(
        labels={**told, **old, **modern},
        taints=(UNREGISTERED, *claim.taints, *claim.startup_taints),
        capacity=found.capacity,
        allocatable=found.allocatable,
        volume_limits=found.volume_limits,
        os=platform[labels.OS],
        arch=platform[labels.ARCH],
        os_image=os_image,
        kubelet_version=kubelet_version,
    )
