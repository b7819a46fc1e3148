"""Machines as kubelets find them: what the cloud has to tell so that nodes can appear and vanish."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, Protocol

from karpenter.model.resources import Resources
from karpenter.model.taints import Taint
from karpenter.model.units import ProviderID, UnixSeconds


class Power(Enum):
    """What a machine is doing, as far as its kubelet is concerned."""

    ON = "on"
    """The system is up."""
    STOPPING = "stopping"
    """It was told to shut down."""
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Machine:
    """One machine and what its kubelet registers."""

    provider_id: ProviderID
    node_name: str
    address: str
    """Its private IP address."""
    ready_at: UnixSeconds
    """When network and container runtime are up; the node cannot be Ready sooner."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """All labels of the new node."""
    taints: tuple[Taint, ...] = ()
    capacity: Resources = field(default_factory=dict)
    allocatable: Resources = field(default_factory=dict)
    volume_limits: Resources = field(default_factory=dict)
    """CSI driver to the number of volumes it can attach."""
    os: str = "linux"
    arch: str = "amd64"
    os_image: str = "Linux"
    kubelet_version: str = ""


class PowerChange(NamedTuple):
    """A machine and what it is doing from now on."""

    machine: Machine
    power: Power


class MachineSource(Protocol):
    """The cloud's side."""

    def changes(self) -> AsyncIterator[PowerChange]:
        """Yield every machine that is up as it is now, then each machine again whenever its power changes, for ever."""
        ...

    def exists(self, provider_id: str) -> bool | None:
        """Return whether the machine behind a node is there, stopping or not; None for nodes of other clouds."""
        ...
