"""Tags of everything that is launched for a claim. Source: spec v1alpha5 AWS-58 (TV-97), spec v1 A-46, A-47."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from karpenter.model import labels
from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.model.nodeclaim import NodeClaim

NAME: Final = "Name"
CLAIM: Final = f"{labels.GROUP}/nodeclaim"
"""Name of the claim; written once the node has registered (A-47)."""
CLAIM_UID: Final = f"{labels.AWS_GROUP}/nodeclaim-uid"
"""Uid of the claim: a launch whose answer was lost finds its machine by it."""
EKS_CLUSTER: Final = "eks:eks-cluster-name"
NODE_CLASS: Final = f"{labels.AWS_GROUP}/ec2nodeclass"
TEMPLATES_OF: Final = f"{labels.AWS_GROUP}/cluster"
"""Name of the cluster that a launch template was made for (AWS-55)."""


def owned_by(cluster_name: str) -> tuple[str, str]:
    """Return the tag, key and value, that says that something belongs to a cluster."""
    return f"kubernetes.io/cluster/{cluster_name}", "owned"


def launch_tags(
    claim: NodeClaim,
    node_class: AwsNodeClass | None,
    *,
    cluster_name: str,
    everywhere: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the tags of instance, volumes, interfaces, fleet, spot request and launch template.

    `everywhere` are those of the settings. The node class's go before them, and the fixed ones before all; only the
    `Name` of a Provisioner's machines may be the user's. Machines of NodePools are named after their nodes, later.
    """
    given = {**(everywhere or {}), **(node_class.tags if node_class else {})}
    fixed = dict([owned_by(cluster_name)])
    provisioner = claim.labels.get(labels.PROVISIONER)
    if provisioner is not None:
        ours = {labels.PROVISIONER: provisioner, labels.MANAGED_BY: cluster_name}
        return {NAME: f"{labels.PROVISIONER}/{provisioner}", **given, **fixed, **ours}
    pool = claim.labels.get(labels.NODEPOOL)
    by_pool = {labels.NODEPOOL: pool} if pool is not None else {}
    by_class = {NODE_CLASS: node_class.name} if node_class is not None else {}
    return {**given, **fixed, **by_pool, EKS_CLUSTER: cluster_name, **by_class}


def tag_list(tags: Mapping[str, str]) -> list[dict[str, str]]:
    """Return tags as APIs take them, by key."""
    return [{"Key": key, "Value": tags[key]} for key in sorted(tags)]
