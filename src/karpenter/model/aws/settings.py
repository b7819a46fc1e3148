"""Settings of the AWS arithmetic; `app.settings` fills them in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class AwsSettings:
    """What an operator may say about all instance types at once (spec v1alpha5 §6.1, spec v1 §5.2)."""

    vm_memory_overhead_percent: float = 0.075
    """Share of a machine's memory that the hypervisor keeps; not negative."""
    reserved_enis: int = 0
    """Network interfaces per node that pods may not use; not negative."""
    enable_pod_eni: bool = False
    """Whether pods may have interfaces of their own (`vpc.amazonaws.com/pod-eni`)."""
    eni_limited_pod_density: bool = True
    """Whether network interfaces limit the pods of a node; otherwise 110 fit."""


DEFAULT_SETTINGS: Final = AwsSettings()
