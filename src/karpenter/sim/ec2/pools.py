"""What a fleet may launch: its launch templates and overrides, as options of the market."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from karpenter.cloud.unavailable import OfferingKey
from karpenter.model import labels
from karpenter.model.aws.catalog import Image, InstanceTypeRecord
from karpenter.sim.ec2.backend import Backend, Params
from karpenter.sim.ec2.codec.messages import AwsError
from karpenter.sim.ec2.images import Images
from karpenter.sim.ec2.network import Network
from karpenter.sim.ec2.profiles import Profiles
from karpenter.sim.ec2.templates import Template, Templates
from karpenter.sim.ec2.types import InstanceTypes
from karpenter.sim.market.account import Subnet

_ON_DEMAND_QUOTA: Final = "VcpuLimitExceeded"
_SPOT_QUOTA: Final = "MaxSpotInstanceCountExceeded"


@dataclass(frozen=True, slots=True)
class Pool:
    """One way to get an instance: a template with one override."""

    key: OfferingKey
    record: InstanceTypeRecord
    image: Image
    subnet: Subnet
    template: Template
    override: Mapping[str, Any]

    @property
    def priority(self) -> float:
        """Where it stands among prioritised pools: the lowest is the first."""
        return float(self.override.get("Priority", 0.0))


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a pool gave no instance."""

    code: str
    message: str
    template: Template
    override: Mapping[str, Any]


class Pools:
    """Reads what may be launched, and says what cannot."""

    def __init__(
        self,
        backend: Backend,
        *,
        templates: Templates,
        types: InstanceTypes,
        images: Images,
        network: Network,
        profiles: Profiles,
    ) -> None:
        self._backend = backend
        self._templates = templates
        self._types = types
        self._images = images
        self._network = network
        self._profiles = profiles

    def read(self, configs: list[Params], capacity_type: str) -> tuple[list[Pool], list[Refusal]]:
        """Return the pools of a fleet's launch template configurations, and what is wrong with the others.

        Raises:
            AwsError: a template does not exist.
        """
        found: list[Pool] = []
        refused: list[Refusal] = []
        for config in configs:
            template = self._templates.find(config["LaunchTemplateSpecification"])
            overrides: Sequence[Params] = config.get("Overrides") or ({},)
            for override in overrides:
                try:
                    found += self._pools(template, override, capacity_type)
                except AwsError as error:
                    refused.append(Refusal(error.code, error.message, template, override))
        return found, refused

    def _pools(self, template: Template, override: Params, capacity_type: str) -> Iterator[Pool]:
        record = self._types.record(override.get("InstanceType") or template.data.get("InstanceType") or "")
        image = self._images.image(override.get("ImageId") or template.data.get("ImageId") or "")
        if image.arch != record.arch:
            raise AwsError(
                "InvalidParameterValue",
                f"The architecture '{record.arch}' of the specified instance type does not match the architecture "
                f"'{image.arch}' of the specified AMI.",
            )
        self._network.check_groups(security_groups(template.data))
        self._profiles.check(template.data.get("IamInstanceProfile") or {})
        subnet = self._network.subnet(override.get("SubnetId") or "")
        key = OfferingKey(record.name, subnet.zone, capacity_type)
        self._check_supply(key, record, subnet)
        yield Pool(key, record, image, subnet, template, override)

    def _check_supply(self, key: OfferingKey, record: InstanceTypeRecord, subnet: Subnet) -> None:
        if self._backend.market.price(key) is None:
            raise AwsError(
                "Unsupported",
                f"Your requested instance type ({record.name}) is not supported in your requested Availability Zone "
                f"({subnet.zone}).",
            )
        if self._backend.market.free_addresses(subnet.id) <= 0:
            raise AwsError(
                "InsufficientFreeAddressesInSubnet",
                f"There are not enough free addresses in subnet '{subnet.id}' to satisfy the requested number of "
                "instances.",
            )
        limit = self._backend.vcpu_quota.get(key.capacity_type)
        if limit is not None and self._vcpus(key.capacity_type) + record.cpu > limit:
            if key.capacity_type == labels.SPOT:
                raise AwsError(_SPOT_QUOTA, "Max spot instance count exceeded")
            raise AwsError(
                _ON_DEMAND_QUOTA,
                f"You have requested more vCPU capacity than your current vCPU limit of {limit} allows for the "
                "instance bucket that the specified instance type belongs to.",
            )

    def _vcpus(self, capacity_type: str) -> int:
        running = self._backend.market.instances()
        offerings = (one.offering for one in running if one.offering.capacity_type == capacity_type)
        return sum(self._types.record(offering.instance_type).cpu for offering in offerings)


def security_groups(data: Mapping[str, Any]) -> list[str]:
    """Return the security groups of a template: its own, or those of its first network interface."""
    interfaces = data.get("NetworkInterfaces") or ()
    return list(data.get("SecurityGroupIds") or next((one.get("Groups", ()) for one in interfaces), ()))
