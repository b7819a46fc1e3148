"""Launching: claims that want the same are launched by one fleet, and each gets a machine of its own.

Source: spec v1alpha5 §3.5, spec v1 §4.7 (A-37 … A-45).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from karpenter.aws.batching import CREATE, Batches
from karpenter.aws.errors import error_code
from karpenter.aws.fleetrequest import (
    MOST_OVERRIDES,
    NO_SPOT_ROLE,
    NO_TEMPLATE,
    FleetRequest,
    Override,
    failure,
    launch_reason,
    refused_offerings,
)
from karpenter.aws.network import FreeAddresses
from karpenter.aws.reservations import Reservations
from karpenter.aws.resolved import MachineOrder, Reservation, Subnet, Template, TemplateSource
from karpenter.aws.session import AwsSession
from karpenter.cloud.errors import CloudError, InsufficientCapacityError, LaunchError, ThrottledError
from karpenter.cloud.unavailable import OfferingKey, UnavailableOfferings
from karpenter.model import labels
from karpenter.model.aws.tags import CLAIM, CLAIM_UID, launch_tags
from karpenter.model.resources import PODS
from karpenter.runtime import logs
from karpenter.runtime.clock import Clock

log = logs.get("aws.fleets")

_AMBIGUOUS: Final = frozenset({"", "InternalError", "InternalFailure", "ServiceUnavailable", "Unavailable"})
"""Failures after which a machine may be there all the same."""


class Launched(NamedTuple):
    """What a launch got."""

    instance_id: str
    instance_type: str
    zone: str
    subnet_id: str
    image_id: str
    template: str
    is_tagged: bool
    """Whether the instance names its claim already."""


class _Caller(NamedTuple):
    uid: str
    name: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a claim asks for, whose subnets are chosen when its call is made: equal ones are launched together."""

    capacity_type: str
    templates: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    """Launch templates by name, each with the types and zones that it serves."""
    subnets: tuple[Subnet, ...]
    tags: tuple[tuple[str, str], ...]
    context: str
    is_block: bool
    pods: int
    """Addresses that a machine may come to take of its subnet."""


@dataclass(frozen=True, slots=True)
class LaunchParts:
    """What launches are made with."""

    templates: TemplateSource
    unavailable: UnavailableOfferings
    addresses: FreeAddresses
    reservations: Reservations


class Fleets:
    """Launches machines."""

    def __init__(
        self, aws: AwsSession, clock: Clock, parts: LaunchParts, *, cluster_name: str, tags: Mapping[str, str]
    ) -> None:
        """`tags` are those of the settings."""
        self._aws = aws
        self._parts = parts
        self._cluster_name = cluster_name
        self._tags = tags
        self._tries: Counter[str] = Counter()
        self._batches: Batches[Wanted, _Caller, Launched] = Batches(self._send, clock, CREATE)

    async def launch(self, order: MachineOrder) -> Launched:
        """Launch a machine for an order.

        Raises InsufficientCapacityError, LaunchError, CloudError; `is_ambiguous` tells after which of them a machine
        may be there.
        """
        try:
            return await self._launch(order)
        except LaunchError as error:
            if error.reason != "LaunchTemplateNotFound" or order.resolved.node_class.launch_template:
                raise
        return await self._launch(order)  # its template was deleted behind our back: made anew now (AWS-49)

    async def _launch(self, order: MachineOrder) -> Launched:
        templates = await self._parts.templates.launch_templates(order)
        wanted = self._wanted(order, templates)
        try:
            claim = order.claim
            launched = await self._batches.ask(wanted, _Caller(claim.metadata.uid or claim.name, claim.name))
        except InsufficientCapacityError as error:
            for reservation in _reserved(order, error.offerings):
                self._parts.reservations.exhausted(reservation.id)
            raise
        except CloudError as error:
            raise _explained(error, order) from error
        for reservation in _reserved(order, [(launched.instance_type, launched.zone, labels.RESERVED)])[:1]:
            self._parts.reservations.launched(reservation)
        images = {template.name: template.image_id for template in templates}
        return launched._replace(image_id=launched.image_id or images.get(launched.template, ""))

    def _wanted(self, order: MachineOrder, templates: Iterable[Template]) -> Wanted:
        zones = set(order.resolved.zones)
        served = [
            # Reservations of one type and zone differ in their templates only.
            (
                one.name,
                tuple(dict.fromkeys((t.name, offering.zone) for t, offering in one.options if offering.zone in zones)),
            )
            for one in templates
        ]
        node_class = order.resolved.node_class
        if not any(options for _, options in served):
            fault = f"node class {node_class.name!r} has no subnet or no image for what is wanted"
            raise LaunchError("SubnetResolutionFailed", fault)
        tags = launch_tags(order.claim, node_class, cluster_name=self._cluster_name, everywhere=self._tags)
        blocks = {one.id for one in order.resolved.reservations if one.kind == "capacity-block"}
        return Wanted(
            capacity_type=order.capacity_type,
            templates=tuple((name, options) for name, options in served if options),
            subnets=order.resolved.subnets,
            tags=tuple(sorted(tags.items())),
            context=node_class.context,
            is_block=any(offering.reservation_id in blocks for _, offering in order.options if offering.reservation_id),
            pods=min((found.capacity.get(PODS, 0) for found, _ in order.options), default=0),
        )

    def _request(self, wanted: Wanted) -> FleetRequest:
        """Return the call for a batch: all of it goes into the roomiest subnet of each zone (A-37)."""
        subnets = self._parts.addresses.choose(wanted.subnets)
        left = MOST_OVERRIDES
        configs = []
        for name, options in wanted.templates:
            overrides = tuple(Override(kind, subnets[zone].id, zone) for kind, zone in options[:left])
            left -= len(overrides)
            if overrides:
                configs.append((name, overrides))
        return FleetRequest(
            wanted.capacity_type, tuple(configs), wanted.tags, context=wanted.context, is_block=wanted.is_block
        )

    # --- one call for many --------------------------------------------------------------------------------------------

    async def _send(self, wanted: Wanted, callers: Sequence[_Caller]) -> Sequence[Launched | Exception]:
        request = self._request(wanted)
        everywhere = {one.subnet_id: wanted.pods for _, overrides in request.templates for one in overrides}
        self._take(everywhere, len(callers))
        used: Counter[str] = Counter()
        try:
            outcomes = await self._launch_all(request, callers)
            used.update(one.subnet_id for one in outcomes if isinstance(one, Launched))
        finally:
            for subnet_id in everywhere:
                self._take({subnet_id: wanted.pods}, used[subnet_id] - len(callers))
        return outcomes

    def _take(self, addresses: Mapping[str, int], times: int) -> None:
        for subnet_id, amount in addresses.items():
            self._parts.addresses.take(subnet_id, amount * times)

    async def _launch_all(self, request: FleetRequest, callers: Sequence[_Caller]) -> Sequence[Launched | Exception]:
        # Two calls for one claim are one: both callers get its machine.
        wanted = {caller.uid: caller for caller in callers}
        alone = next(iter(wanted.values())) if len(wanted) == 1 else None
        own_tags = {CLAIM: alone.name, CLAIM_UID: alone.uid} if alone else {}
        token = request.token(f"{uid}/{self._tries[uid]}" for uid in wanted)
        try:
            answer = await self._aws.call("ec2", "CreateFleet", **request.parameters(len(wanted), own_tags, token))
        except CloudError as error:
            if not is_ambiguous(error):
                self._tries.update(wanted.keys())
            self._forget_templates(request, error_code(error))
            raise
        self._tries.update(wanted.keys())  # what failed is asked for anew: EC2 repeats its answer to the old token
        errors: Sequence[Mapping[str, Any]] = answer.get("Errors", ())
        refused = self._note(request, errors)
        launched = list(_launched(request, answer, is_tagged=alone is not None))
        outcomes: dict[str, Launched | Exception] = dict(zip(sorted(wanted), launched, strict=False))
        return [outcomes.get(caller.uid) or failure(errors, refused) for caller in callers]

    def _note(self, request: FleetRequest, errors: Iterable[Mapping[str, Any]]) -> tuple[OfferingKey, ...]:
        """Remember what an answer says about offerings, reservations and templates."""
        errors = list(errors)
        refused = refused_offerings(request, errors)
        if request.capacity_type != labels.RESERVED:
            self._parts.unavailable.mark(refused)
        codes = {str(raw.get("ErrorCode")) for raw in errors}
        if NO_SPOT_ROLE in codes:
            every = [one for _, overrides in request.templates for one in overrides]
            self._parts.unavailable.mark(OfferingKey(one.instance_type, one.zone, labels.SPOT) for one in every)
        for code in codes:
            self._forget_templates(request, code)
        return refused

    def _forget_templates(self, request: FleetRequest, code: str) -> None:
        if code in NO_TEMPLATE:
            for name, _ in request.templates:
                self._parts.templates.forget(name)


def _launched(request: FleetRequest, answer: Mapping[str, Any], *, is_tagged: bool) -> Iterable[Launched]:
    for raw in answer.get("Instances", ()):
        override = request.override(raw)
        source = raw.get("LaunchTemplateAndOverrides", {})
        named = source.get("Overrides", {})
        for instance_id in raw["InstanceIds"]:
            yield Launched(
                instance_id,
                raw.get("InstanceType") or named.get("InstanceType", ""),
                override.zone if override else named.get("AvailabilityZone", ""),
                override.subnet_id if override else named.get("SubnetId", ""),
                named.get("ImageId", ""),
                source.get("LaunchTemplateSpecification", {}).get("LaunchTemplateName", ""),
                is_tagged,
            )


def _reserved(order: MachineOrder, offerings: Iterable[tuple[str, str, str]]) -> list[Reservation]:
    """Return the reservations of an order that serve some of these types and zones."""
    if order.capacity_type != labels.RESERVED:
        return []
    places = {(instance_type, zone) for instance_type, zone, _ in offerings}
    wanted = {offering.reservation_id for _, offering in order.options}
    return [one for one in order.resolved.reservations if one.id in wanted and (one.instance_type, one.zone) in places]


def is_ambiguous(error: CloudError) -> bool:
    """Return whether a machine may be there although its launch failed: the answer was lost, or EC2 broke down."""
    return error_code(error) in _AMBIGUOUS and not isinstance(error, ThrottledError | LaunchError)


def _explained(error: CloudError, order: MachineOrder) -> CloudError:
    """Return an error with the reason that the claim's condition shows, where EC2 gave one."""
    code = error_code(error)
    if not code or isinstance(error, LaunchError | ThrottledError):
        return error
    return LaunchError(launch_reason(code, str(error)), f"{error} (node class {order.resolved.name!r})")
