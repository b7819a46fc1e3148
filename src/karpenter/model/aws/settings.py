"""Settings of AWS; `app.settings` fills them in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class AwsAccount:
    """Which cluster of which account, and how its services are reached (spec v1alpha5 §6.1, spec v1 §5.2)."""

    cluster_name: str = ""
    region: str = ""
    """Empty leaves it to the SDK: AWS_REGION, the profile, the machine we run on."""
    cluster_endpoint: str = ""
    """Empty asks EKS."""
    cluster_ca_bundle: str = ""
    """PEM in base64; empty asks EKS."""
    interruption_queue: str = ""
    """Empty means that interruptions are not heard of."""
    default_instance_profile: str = ""
    tags: tuple[tuple[str, str], ...] = ()
    """For everything that is launched."""
    is_isolated: bool = False
    """Whether price list and IAM cannot be reached."""
    disable_dry_run: bool = False
    """Whether launches of node classes are not tried out before they are needed."""
    discount_file: str = ""
    endpoint_url: str = ""
    """Stands in for all services; empty for the real ones."""


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
    account: AwsAccount = AwsAccount()


DEFAULT_SETTINGS: Final = AwsSettings()
