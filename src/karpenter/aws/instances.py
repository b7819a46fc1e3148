"""Instances of the cluster in EC2: found, listed, ended, tagged. Source: spec v1 A-47, A-48; spec v1alpha5 AWS-47."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from karpenter.aws.batching import DESCRIBE, TERMINATE, Batches
from karpenter.aws.errors import error_code
from karpenter.aws.session import AwsSession, collect
from karpenter.cloud.errors import CloudError, InstanceNotFoundError
from karpenter.model import labels
from karpenter.model.aws.drift import MachineParts
from karpenter.model.aws.tags import NODE_CLASS, owned_by, tag_list
from karpenter.model.units import ProviderID, UnixSeconds
from karpenter.runtime.clock import Clock

_ALIVE: Final = ("pending", "running", "stopping", "stopped", "shutting-down")
_UNKNOWN: Final = frozenset({"InvalidInstanceID.NotFound", "InvalidInstanceID.Malformed"})
_PAGE: Final = 1000


@dataclass(frozen=True, slots=True)
class Machine:
    """One instance as EC2 describes it."""

    id: str
    instance_type: str
    zone: str
    capacity_type: str
    state: str
    launched_at: UnixSeconds
    parts: MachineParts
    tags: Mapping[str, str]
    instance_profile: str = ""
    """Name of the profile; empty for none."""

    @property
    def provider_id(self) -> ProviderID:
        """As nodes and claims name it (A-45)."""
        return ProviderID(f"aws:///{self.zone}/{self.id}")


def instance_id_of(provider_id: str) -> str:
    """Return the instance id in a provider id; any spelling with the id last will do."""
    return provider_id.rpartition("/")[2]


class Machines:
    """Asks for instances and ends them; calls for one instance each are sent together."""

    def __init__(self, aws: AwsSession, clock: Clock, *, cluster_name: str) -> None:
        self._aws = aws
        self._cluster_name = cluster_name
        self._described: Batches[str, str, Machine] = Batches(self._describe, clock, DESCRIBE)
        self._terminated: Batches[str, str, bool] = Batches(self._terminate, clock, TERMINATE)

    async def get(self, instance_id: str) -> Machine:
        """Return an instance that is not gone. Raises InstanceNotFoundError, CloudError."""
        found = await self._described.ask("", instance_id)
        if found.state == "terminated":
            raise InstanceNotFoundError(f"instance {instance_id} has terminated")
        return found

    async def list(self, more: Mapping[str, str] | None = None) -> tuple[Machine, ...]:
        """Return the cluster's instances that are not gone, oldest first; `more` are tags they must have as well.

        Raises CloudError.
        """
        key, value = owned_by(self._cluster_name)
        # The cluster's tag is also on machines that EKS manages; one of these only on ours.
        ours = {"Name": "tag-key", "Values": [labels.NODEPOOL, labels.PROVISIONER, NODE_CLASS]}
        wanted = [{"Name": f"tag:{name}", "Values": [text]} for name, text in {key: value, **(more or {})}.items()]
        filters = [*wanted, ours, {"Name": "instance-state-name", "Values": list(_ALIVE)}]
        reservations = await collect(
            self._aws, ("ec2", "DescribeInstances"), "Reservations", Filters=filters, MaxResults=_PAGE
        )
        return tuple(sorted(_machines(reservations), key=lambda one: (one.launched_at, one.id)))

    async def terminate(self, instance_id: str) -> None:
        """Begin the end of an instance. Raises InstanceNotFoundError, CloudError."""
        await self._terminated.ask("", instance_id)

    async def tag(self, instance_id: str, tags: Mapping[str, str]) -> None:
        """Write tags onto an instance. Raises InstanceNotFoundError, CloudError."""
        try:
            await self._aws.call("ec2", "CreateTags", Resources=[instance_id], Tags=tag_list(tags))
        except CloudError as error:
            if error_code(error) in _UNKNOWN:
                raise _not_found(error, instance_id) from error
            raise

    # --- together -----------------------------------------------------------------------------------------------------

    async def _describe(self, _: str, ids: Sequence[str]) -> Sequence[Machine | Exception]:
        try:
            found = await self._ask(sorted(set(ids)))
        except CloudError as error:
            if len(set(ids)) == 1 and error_code(error) in _UNKNOWN:
                return [_not_found(error, ids[0])] * len(ids)
            if len(set(ids)) == 1 or error_code(error) not in _UNKNOWN:
                raise
            # One unknown id spoils the call for all: each is asked for alone (AWS-47).
            alone = await asyncio.gather(*(self._describe("", [one]) for one in ids), return_exceptions=True)
            return [each if isinstance(each, BaseException) else each[0] for each in alone]  # type: ignore[misc]
        return [found.get(one) or InstanceNotFoundError(f"instance {one} is not there") for one in ids]

    async def _ask(self, ids: Sequence[str]) -> dict[str, Machine]:
        reservations = await collect(self._aws, ("ec2", "DescribeInstances"), "Reservations", InstanceIds=list(ids))
        return {machine.id: machine for machine in _machines(reservations)}

    async def _terminate(self, _: str, ids: Sequence[str]) -> Sequence[bool | Exception]:
        wanted = sorted(set(ids))
        try:
            await self._aws.call("ec2", "TerminateInstances", InstanceIds=wanted)
        except CloudError as error:
            if len(wanted) == 1 and error_code(error) in _UNKNOWN:
                return [_not_found(error, wanted[0])] * len(ids)
            if len(wanted) == 1 or error_code(error) not in _UNKNOWN:
                raise
            alone = await asyncio.gather(*(self._terminate("", [one]) for one in ids), return_exceptions=True)
            return [each if isinstance(each, BaseException) else each[0] for each in alone]  # type: ignore[misc]
        return [True] * len(ids)


def _not_found(error: CloudError, instance_id: str) -> InstanceNotFoundError:
    found = InstanceNotFoundError(f"instance {instance_id} is not there")
    found.__cause__ = error  # it is handed to its caller rather than raised here
    return found


def _machines(reservations: Iterable[Mapping[str, Any]]) -> Iterable[Machine]:
    return (_machine(raw) for reservation in reservations for raw in reservation["Instances"])


def _machine(raw: Mapping[str, Any]) -> Machine:
    placement = raw.get("Placement", {})
    specification = raw.get("CapacityReservationSpecification", {}).get("CapacityReservationTarget", {})
    is_spot = raw.get("InstanceLifecycle") == "spot"
    is_reserved = bool(specification.get("CapacityReservationId"))
    return Machine(
        id=raw["InstanceId"],
        instance_type=raw["InstanceType"],
        zone=placement.get("AvailabilityZone", ""),
        capacity_type=labels.SPOT if is_spot else labels.RESERVED if is_reserved else labels.ON_DEMAND,
        state=raw["State"]["Name"],
        launched_at=UnixSeconds(raw["LaunchTime"].timestamp()),
        parts=MachineParts(
            image_id=raw.get("ImageId", ""),
            subnet_id=raw.get("SubnetId", ""),
            security_group_ids=frozenset(group["GroupId"] for group in raw.get("SecurityGroups", ())),
            reservation_id=raw.get("CapacityReservationId", "") if is_reserved else "",
            placement_group_id=placement.get("GroupId", ""),
        ),
        tags={tag["Key"]: tag["Value"] for tag in raw.get("Tags", ())},
        instance_profile=raw.get("IamInstanceProfile", {}).get("Arn", "").rpartition("/")[2],
    )
