"""Trying out a launch before anybody needs it: permissions, user data. Source: spec v1 A-16 … A-18."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from cachetools import TTLCache

from karpenter.aws.errors import error_code, is_denied
from karpenter.aws.launchtemplates import LaunchTemplates
from karpenter.aws.resolved import MachineOrder, ResolvedNodeClass
from karpenter.aws.session import AwsSession
from karpenter.cloud.errors import CloudError, LaunchError, UnauthorizedError
from karpenter.model import labels
from karpenter.model.aws.allocatable import Build
from karpenter.model.aws.catalog import InstanceTypeRecord, load_aws_catalog
from karpenter.model.aws.classstatus import VALIDATED
from karpenter.model.aws.instancetypes import InstanceTypeCache
from karpenter.model.aws.settings import DEFAULT_SETTINGS
from karpenter.model.aws.tags import tag_list
from karpenter.model.instancetype import InstanceType, Offering
from karpenter.model.meta import Condition, ObjectMeta
from karpenter.model.nodeclaim import NodeClaim
from karpenter.model.resources import PODS
from karpenter.runtime.clock import Clock

_REMEMBERED_S: Final = 1800.0
_MOST_REMEMBERED: Final = 500
_USUAL_TYPES: Final = ("m5.large", "m6g.large")
"""What is tried first (A-17); a class with images for neither is tried with the first type that they serve."""
_ALLOWED: Final = "DryRunOperation"
_POOL: Final = "validation"
"""Name of the pool in the tags: the policy wants one, and nothing is launched."""


class LaunchValidator:
    """Tries launches out. Verdicts are kept for half an hour, or until the class or what it selects changes."""

    def __init__(
        self, aws: AwsSession, templates: LaunchTemplates, clock: Clock, *, makes_dry_runs: bool = True
    ) -> None:
        """Without dry runs only the user data is tried out (`DISABLE_DRY_RUN`)."""
        self._aws = aws
        self._templates = templates
        self._makes_dry_runs = makes_dry_runs
        self._verdicts: TTLCache[object, Condition] = TTLCache(_MOST_REMEMBERED, _REMEMBERED_S, clock.now)

    async def validate(self, resolved: ResolvedNodeClass) -> Condition:
        """Return the condition `ValidationSucceeded`; `Unknown` when AWS could not be asked."""
        key = _inputs(resolved)
        if key not in self._verdicts:
            verdict = await self._try(resolved)
            if verdict.status == "Unknown":
                return verdict
            self._verdicts[key] = verdict
        return self._verdicts[key]

    async def _try(self, resolved: ResolvedNodeClass) -> Condition:
        order = _probe(resolved, self._aws.region)
        if order is None:
            return Condition(
                VALIDATED, "False", "AMINotFound", f"no instance type can boot any image of {resolved.name!r}"
            )
        ami = resolved.ami_for(order.options[0][0])
        assert ami is not None, "the probe has an image"
        try:
            content = self._templates.content(order, ami, pods=order.options[0][0].capacity.get(PODS, 0))
        except LaunchError as error:
            return Condition(VALIDATED, "False", error.reason, str(error))
        if not self._makes_dry_runs:
            return Condition(VALIDATED, "True")
        try:
            (template,) = await self._templates.launch_templates(order)
        except UnauthorizedError as error:
            return _denied("CreateLaunchTemplate", error)
        except CloudError as error:
            return _unknown(error)
        tags = self._templates.tags_of(order)
        return (
            await self._dry_run("CreateFleet", _fleet(order, template.name, tags))
            or await self._dry_run("RunInstances", _instance(order, template.name, content=content, tags=tags))
            or Condition(VALIDATED, "True")
        )

    async def _dry_run(self, operation: str, parameters: Mapping[str, Any]) -> Condition | None:
        """Return what stands against an operation; None when it would be let through."""
        try:
            await self._aws.call("ec2", operation, DryRun=True, **parameters)
        except UnauthorizedError as error:
            return _denied(operation, error)
        except CloudError as error:
            return None if error_code(error) == _ALLOWED else _unknown(error)
        return None


def _denied(operation: str, error: UnauthorizedError) -> Condition:
    if not is_denied(error):
        return _unknown(error)  # credentials that fail say nothing about the class
    message = f"{error}; a launch needs it for its resources and tags, and iam:PassRole for the role of its profile"
    return Condition(VALIDATED, "False", f"{operation}AuthCheckFailed", message)


def _unknown(error: CloudError) -> Condition:
    return Condition(VALIDATED, "Unknown", "CallFailed", str(error))


def _inputs(resolved: ResolvedNodeClass) -> object:
    """Return all that a verdict rests on: the class as it stands, annotations included (A-18), and what it selects."""
    metadata = resolved.node_class.metadata
    return (
        metadata.uid,
        metadata.generation,
        tuple(sorted(metadata.annotations.items())),
        frozenset(subnet.id for subnet in resolved.subnets),
        resolved.security_groups,
        frozenset(ami.id for ami in resolved.amis),
        resolved.instance_profile,
        resolved.placement_group,
    )


# --- the probe --------------------------------------------------------------------------------------------------------


def _probe(resolved: ResolvedNodeClass, region: str) -> MachineOrder | None:
    """Return an order for one machine of a type that the class has an image for; None when there is no such type."""
    found = next((one for one in _candidates(resolved, region) if resolved.ami_for(one) is not None), None)
    if found is None:
        return None
    claim = NodeClaim(ObjectMeta(name=_POOL, labels={labels.NODEPOOL: _POOL}))
    offering = Offering(resolved.subnets[0].zone, labels.ON_DEMAND, 0.0)
    return MachineOrder(claim, resolved, labels.ON_DEMAND, ((found, offering),))


def _candidates(resolved: ResolvedNodeClass, region: str) -> Iterator[InstanceType]:
    cache, build = InstanceTypeCache(region, DEFAULT_SETTINGS), Build.of(resolved.node_class, None)
    for record in _records():
        yield cache.resolve([record], lambda _: (), build)[0]


@lru_cache(maxsize=1)
def _records() -> tuple[InstanceTypeRecord, ...]:
    """Return one type of each architecture and kind of device, the usual ones first: images tell no others apart."""
    records = load_aws_catalog().records
    kinds: dict[tuple[object, ...], InstanceTypeRecord] = {}
    for record in (*(records[name] for name in _USUAL_TYPES), *records.values()):
        kinds.setdefault((record.arch, record.accelerator, bool(record.gpus), record.category_and_generation), record)
    return tuple(kinds.values())


def _fleet(order: MachineOrder, template: str, tags: Mapping[str, str]) -> dict[str, Any]:
    override = {"InstanceType": order.options[0][0].name, "SubnetId": order.resolved.subnets[0].id}
    return {
        "Type": "instant",
        "LaunchTemplateConfigs": [
            {
                "LaunchTemplateSpecification": {"LaunchTemplateName": template, "Version": "$Latest"},
                "Overrides": [override],
            }
        ],
        "TargetCapacitySpecification": {"TotalTargetCapacity": 1, "DefaultTargetCapacityType": labels.ON_DEMAND},
        "TagSpecifications": [
            {"ResourceType": kind, "Tags": tag_list(tags)} for kind in ("instance", "volume", "fleet")
        ],
    }


def _instance(
    order: MachineOrder, template: str, *, content: Mapping[str, Any], tags: Mapping[str, str]
) -> dict[str, Any]:
    subnet = order.resolved.subnets[0].id
    place: dict[str, Any] = {"SubnetId": subnet}
    if "NetworkInterfaces" in content:  # where interfaces are named, the subnet is theirs
        place = {"NetworkInterfaces": [{**one, "SubnetId": subnet} for one in content["NetworkInterfaces"]]}
    return {
        **place,
        "LaunchTemplate": {"LaunchTemplateName": template, "Version": "$Latest"},
        "InstanceType": order.options[0][0].name,
        "MinCount": 1,
        "MaxCount": 1,
        "TagSpecifications": [{"ResourceType": kind, "Tags": tag_list(tags)} for kind in ("instance", "volume")],
    }
