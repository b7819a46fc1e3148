"""What every node is told, whatever its image: labels, taints, kubelet settings, the cluster."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, cast

from karpenter.model import labels
from karpenter.model.aws.cluster import ClusterFacts
from karpenter.model.aws.families import FAMILIES
from karpenter.model.aws.nodeclass import AmiFamily, AwsNodeClass
from karpenter.model.nodeclaim import NodeClaim
from karpenter.model.nodepool import KubeletConfiguration
from karpenter.model.taints import UNREGISTERED, Taint

_WITHHELD: Final = re.compile(r"(?:.*\.)?(?:kubernetes\.io|k8s\.io)")
"""Domains of which a kubelet may set no label on its own node, `node-restriction.kubernetes.io` included (A-49)."""


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """How one machine boots."""

    cluster: ClusterFacts
    family: AmiFamily
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    kubelet: KubeletConfiguration = field(default_factory=KubeletConfiguration)
    """`max_pods` and `cluster_dns` are always what the node is to have; empty DNS leaves it to the image."""
    kubelet_fields: Mapping[str, object] = field(default_factory=dict)
    """Fields of the kubelet's own configuration that we do not know; only AL2023 can pass them on (A-32)."""
    custom: str = ""
    """The user's own part."""
    local_disks_are_storage: bool = False
    """Whether local disks become one RAID 0 for pods."""


def bootstrap_of(
    claim: NodeClaim,
    node_class: AwsNodeClass,
    cluster: ClusterFacts,
    *,
    capacity_type: str,
    max_pods: int,
    kubelet: KubeletConfiguration | None = None,
) -> Bootstrap:
    """Return how the machine of a claim boots; `max_pods` is the pod capacity of its type (AWS-72).

    `kubelet` are a Provisioner's own settings, which go before the node class's.
    """
    settings = kubelet or node_class.kubelet or KubeletConfiguration()
    if kubelet is not None and not FAMILIES[node_class.ami_family].honours_soft_eviction:
        # Its allocatable was computed without them (AWS-26): with them, pods would be evicted too early.
        settings = replace(settings, eviction_soft={}, eviction_soft_grace_period_s={})
    dns = settings.cluster_dns or ((cluster.dns_address,) if cluster.dns_address else ())
    pods = max_pods if settings.max_pods is None else settings.max_pods
    is_ours = node_class.ami_family != "Custom"
    return Bootstrap(
        cluster=cluster,
        family=node_class.ami_family,
        labels=node_labels(claim, capacity_type),
        taints=(*claim.taints, *claim.startup_taints, *((UNREGISTERED,) if is_ours else ())),
        kubelet=replace(settings, max_pods=pods, cluster_dns=dns),
        kubelet_fields=cast(Mapping[str, object], node_class.other.get("kubelet") or {}) if kubelet is None else {},
        custom=node_class.user_data,
        local_disks_are_storage=node_class.instance_store_policy == "RAID0",
    )


def node_labels(claim: NodeClaim, capacity_type: str) -> dict[str, str]:
    """Return the labels that a kubelet gives its own node: the claim's, less those it may not set (AWS-74, A-49).

    Nodes of NodePools say that they bring their taints themselves: a startup taint that is gone by the time of
    registration is not put back (A-41).
    """
    told = {key: value for key, value in claim.labels.items() if not _WITHHELD.fullmatch(labels.domain(key))}
    told[labels.CAPACITY_TYPE] = capacity_type
    if labels.PROVISIONER not in claim.labels:
        told[labels.DO_NOT_SYNC_TAINTS] = "true"
    return dict(sorted(told.items()))
