"""Instances of the market: what they are, and in which state at which moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from karpenter.cloud.unavailable import OfferingKey
from karpenter.model import labels
from karpenter.model.resources import Resources
from karpenter.model.taints import Taint
from karpenter.model.units import ProviderID, UnixSeconds


class InstanceState(StrEnum):
    """The life of an instance, in order."""

    PENDING = "pending"
    RUNNING = "running"
    TERMINATING = "terminating"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Boot:
    """What the kubelet of an instance was told, and finds, when it starts: what the node registers as."""

    labels: Mapping[str, str] = field(default_factory=dict)
    """All labels of the new node but `kubernetes.io/hostname`, which is its name."""
    taints: tuple[Taint, ...] = ()
    """In this order: `karpenter.sh/unregistered`, the claim's taints, its startup taints."""
    capacity: Resources = field(default_factory=dict)
    allocatable: Resources = field(default_factory=dict)
    volume_limits: Resources = field(default_factory=dict)
    """CSI driver to the number of volumes it can attach."""
    os: str = "linux"
    arch: str = "amd64"
    os_image: str = "Linux"
    kubelet_version: str = ""
    joins: bool = True
    """Whether a kubelet starts that finds the cluster; a machine that was told nothing about it only costs money."""


@dataclass(frozen=True, slots=True)
class Blueprint:
    """What the buyer asks for beside the offering."""

    image_id: str = ""
    subnet_id: str = ""
    security_group_ids: tuple[str, ...] = ()
    instance_profile: str = ""
    launch_template: str = ""
    """Id of the template it was launched from; empty where there are none."""
    reservation_id: str = ""
    """The capacity reservation that it takes a place of; empty for none."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels that follow from type and offering, as `model.Instance.labels`."""
    boot: Boot = field(default_factory=Boot)


@dataclass(frozen=True, slots=True)
class MarketInstance:
    """One instance. Its state is a function of time: nothing has to happen for it to boot or to end."""

    id: str
    """`i-` and 17 hexadecimal digits."""
    ordinal: int
    """The how-manieth launch of the market it was, from 1."""
    token: str
    """What the buyer gave to make the launch idempotent."""
    offering: OfferingKey
    price: float
    """USD per hour when it was launched."""
    private_ip: str
    node_name: str
    """`ip-10-0-1-23.us-west-2.compute.internal`."""
    blueprint: Blueprint
    tags: Mapping[str, str]
    launched_at: UnixSeconds
    booted_at: UnixSeconds
    """When the system is up and the kubelet registers its node."""
    ready_at: UnixSeconds
    """When the node can be Ready: network and device plugins are up."""
    terminating_at: UnixSeconds | None = None
    """When its end begins; may lie ahead (a spot interruption's deadline). None while nobody asked for it."""
    gone_at: UnixSeconds | None = None

    @property
    def provider_id(self) -> ProviderID:
        """The key of its node."""
        return ProviderID(f"aws:///{self.offering.zone}/{self.id}")

    @property
    def boot(self) -> Boot:
        """What its node registers as."""
        return self.blueprint.boot

    def node_labels(self) -> dict[str, str]:
        """Return all labels that the kubelet's node has from the start."""
        return {**self.boot.labels, labels.HOSTNAME: self.node_name}

    def state(self, now: UnixSeconds) -> InstanceState:
        """Return the state at a moment."""
        if self.gone_at is not None and now >= self.gone_at:
            return InstanceState.GONE
        if self.terminating_at is not None and now >= self.terminating_at:
            return InstanceState.TERMINATING
        return InstanceState.RUNNING if now >= self.booted_at else InstanceState.PENDING

    def next_change(self, now: UnixSeconds) -> UnixSeconds | None:
        """Return when the state changes next if nothing is done; None when it stays."""
        moments = (self.booted_at, self.terminating_at, self.gone_at)
        ahead = [moment for moment in moments if moment is not None and moment > now]
        # An instance that ends while it boots never runs.
        return min(ahead) if ahead and self.state(now) is not InstanceState.GONE else None
