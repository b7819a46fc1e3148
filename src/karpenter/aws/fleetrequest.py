"""What CreateFleet is asked, and what its answer means. Source: spec v1alpha5 AWS-46, AWS-48; spec v1 A-38, A-43."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from karpenter.cloud.errors import CloudError, InsufficientCapacityError, LaunchError
from karpenter.cloud.unavailable import OfferingKey
from karpenter.model import labels
from karpenter.model.aws.tags import tag_list

MOST_OVERRIDES: Final = 300
"""EC2 takes no more in an instant fleet."""
NO_CAPACITY: Final = frozenset({
    "InsufficientInstanceCapacity", "MaxSpotInstanceCountExceeded", "VcpuLimitExceeded", "UnfulfillableCapacity",
    "Unsupported", "InsufficientFreeAddressesInSubnet", "MaxFleetCountExceeded", "ReservationCapacityExceeded",
})  # fmt: skip
NO_TEMPLATE: Final = frozenset({
    "InvalidLaunchTemplateName.NotFoundException", "InvalidLaunchTemplateId.NotFound",
})  # fmt: skip
NO_SPOT_ROLE: Final = "AuthFailure.ServiceLinkedRoleCreationNotPermitted"

_REASONS: Final = {
    NO_SPOT_ROLE: "SpotSLRCreationFailed",
    "UnauthorizedOperation": "Unauthorized",
    "AccessDenied": "Unauthorized",
    "AuthFailure": "AMIAuthorizationFailure",
    "InvalidParameterCombination": "SecurityGroupSubnetVPCMismatch",
    "InvalidLaunchTemplateName.NotFoundException": "LaunchTemplateNotFound",
    "InvalidLaunchTemplateId.NotFound": "LaunchTemplateNotFound",
    "InvalidUserData.Malformed": "UserDataSizeLimitExceeded",
    "InvalidAMIID.Malformed": "InvalidAMIID",
    "InvalidAMIID.NotFound": "AMINotFound",
    "InvalidAMIID.Unavailable": "AMINotFound",
    "RequestLimitExceeded": "RequestLimitExceeded",
    "InternalError": "InternalError",
    "PendingVerification": "AccountPendingVerification",
    "MaxSpotFleetRequestCountExceeded": "SpotQuotaExceeded",
    "MaxSpotInstanceCountExceeded": "SpotQuotaExceeded",
    "VcpuLimitExceeded": "VCPULimitExceeded",
    "InsufficientFreeAddressesInSubnet": "InsufficientFreeAddressesInSubnet",
}
"""As the condition `Launched` spells what EC2 answers (A-43)."""


class Override(NamedTuple):
    """One pool of machines that a fleet may take from."""

    instance_type: str
    subnet_id: str
    zone: str


@dataclass(frozen=True, slots=True)
class FleetRequest:
    """One launch but for whom it is: equal requests are sent as one."""

    capacity_type: str
    templates: tuple[tuple[str, tuple[Override, ...]], ...]
    """Launch templates by name, each with what it may be launched as."""
    tags: tuple[tuple[str, str], ...]
    context: str = ""
    is_block: bool = False
    """Whether it goes into a capacity block."""

    def parameters(self, count: int, own_tags: Mapping[str, str], token: str) -> dict[str, Any]:
        """Return the parameters of CreateFleet for so many machines; `own_tags` go onto each instance."""
        tags = dict(self.tags)
        tagged = {"instance": {**tags, **own_tags}, "volume": tags, "fleet": tags}
        target = "capacity-block" if self.is_block else "spot" if self.capacity_type == labels.SPOT else "on-demand"
        by_kind = (
            {"SpotOptions": {"AllocationStrategy": "price-capacity-optimized"}}
            if target == "spot"
            else {"OnDemandOptions": {"AllocationStrategy": "lowest-price"}}
            if target == "on-demand"
            else {}
        )
        return {
            "Type": "instant",
            "ClientToken": token,
            "TargetCapacitySpecification": {"DefaultTargetCapacityType": target, "TotalTargetCapacity": count},
            "LaunchTemplateConfigs": [self._config(name, overrides) for name, overrides in self.templates],
            "TagSpecifications": [
                {"ResourceType": kind, "Tags": tag_list(of_kind)} for kind, of_kind in tagged.items()
            ],
            **by_kind,
            **({"Context": self.context} if self.context else {}),
        }

    @staticmethod
    def _config(name: str, overrides: Sequence[Override]) -> dict[str, Any]:
        return {
            "LaunchTemplateSpecification": {"LaunchTemplateName": name, "Version": "$Latest"},
            "Overrides": [
                {"InstanceType": one.instance_type, "SubnetId": one.subnet_id, "AvailabilityZone": one.zone}
                for one in overrides
            ],
        }

    def override(self, raw: Mapping[str, Any]) -> Override | None:
        """Return which of its overrides an answer speaks of; None when it speaks of none."""
        named = raw.get("LaunchTemplateAndOverrides", {}).get("Overrides", {})
        wanted = (named.get("InstanceType") or raw.get("InstanceType"), named.get("SubnetId"))
        every = [one for _, overrides in self.templates for one in overrides]
        exact = (one for one in every if (one.instance_type, one.subnet_id) == wanted)
        by_zone = (one for one in every if one.instance_type == wanted[0] and one.zone == named.get("AvailabilityZone"))
        return next(exact, None) or next(by_zone, None)

    def token(self, callers: Iterable[str]) -> str:
        """Return the client token of a call for these: the same call has the same one, however often it is made."""
        text = repr((self, sorted(callers)))
        return hashlib.sha256(text.encode()).hexdigest()[:48]


def refused_offerings(request: FleetRequest, errors: Iterable[Mapping[str, Any]]) -> tuple[OfferingKey, ...]:
    """Return the offerings that EC2 has nothing left of (A-44)."""
    found: dict[OfferingKey, None] = {}
    for raw in errors:
        override = request.override(raw)
        if override is not None and raw.get("ErrorCode") in NO_CAPACITY:
            found[OfferingKey(override.instance_type, override.zone, request.capacity_type)] = None
    return tuple(found)


def failure(errors: Sequence[Mapping[str, Any]], refused: Sequence[OfferingKey]) -> CloudError:
    """Return why a fleet gave no machine: no capacity when nothing else was wrong, else the first other fault."""
    others = [raw for raw in errors if raw.get("ErrorCode") not in NO_CAPACITY]
    if not others:
        shown = ", ".join(str(key) for key in refused[:3])
        more = f" and {len(refused) - 3} more" if len(refused) > 3 else ""
        codes = sorted({str(raw.get("ErrorCode")) for raw in errors})
        why = f" ({', '.join(codes)})" if codes else ""
        return InsufficientCapacityError(
            f"EC2 has no capacity for {shown or 'the fleet'}{more}{why}", offerings=refused
        )
    said = {(str(raw.get("ErrorCode")), str(raw.get("ErrorMessage"))) for raw in others}
    text = "; ".join(f"{code}: {message}" for code, message in sorted(said))
    return LaunchError(launch_reason(str(others[0].get("ErrorCode")), str(others[0].get("ErrorMessage"))), text)


def launch_reason(code: str, message: str) -> str:
    """Return the reason of the condition `Launched` for what EC2 answered."""
    if "instance profile" in message.lower() or "iamInstanceProfile" in message:
        return "InstanceProfileNameInvalid"
    if "free tier" in message.lower():
        return "FreeTierIneligible"
    return _REASONS.get(code, "LaunchFailed")
