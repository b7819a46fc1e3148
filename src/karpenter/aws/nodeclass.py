"""Node classes of an account: what they mean now, and what their status says. Source: spec v1 A-1, A-3, A-16."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from karpenter.aws.amis import Amis
from karpenter.aws.launchtemplates import LaunchTemplates
from karpenter.aws.network import Network
from karpenter.aws.placementgroups import PlacementGroups, names_group
from karpenter.aws.profiles import InstanceProfiles, ProfileError
from karpenter.aws.reservations import Reservations, selects_reservations
from karpenter.aws.resolved import Ami, PlacementGroup, Reservation, ResolvedNodeClass, SecurityGroup, Subnet
from karpenter.aws.statusfields import status_fields
from karpenter.cloud.errors import CloudError, NodeClassNotReadyError, UnauthorizedError
from karpenter.model.aws import classstatus as status
from karpenter.model.aws.aliases import alias_fault, alias_of
from karpenter.model.aws.classfaults import class_fault
from karpenter.model.aws.classstatus import ClassReport, is_there, selects_nothing
from karpenter.model.aws.cluster import ClusterFacts
from karpenter.model.aws.nodeclass import AwsNodeClass, SelectorTerm
from karpenter.model.meta import Condition

T = TypeVar("T")

_LOOK_AGAIN_S: Final = 60.0
_UNAUTHORIZED: Final = "Unauthorized"


class Validator(Protocol):
    """Judges a class whose parts are all there, by trying out what a launch would do."""

    async def validate(self, resolved: ResolvedNodeClass) -> Condition:
        """Return the condition `ValidationSucceeded`."""
        ...


@dataclass(frozen=True, slots=True)
class Sources:
    """Where each part of a class is found."""

    network: Network
    amis: Amis
    profiles: InstanceProfiles
    reservations: Reservations
    placement_groups: PlacementGroups
    templates: LaunchTemplates


@dataclass(slots=True)
class _Look:
    """What one look at a class finds; it stays within the call that made it."""

    subnets: Sequence[Subnet] = ()
    security_groups: Sequence[SecurityGroup] = ()
    amis: Sequence[Ami] = ()
    instance_profile: str = ""
    reservations: Sequence[Reservation] = ()
    placement_group: PlacementGroup | None = None

    def resolved(self, node_class: AwsNodeClass) -> ResolvedNodeClass:
        return ResolvedNodeClass(
            node_class,
            subnets=tuple(self.subnets),
            security_groups=tuple(self.security_groups),
            amis=tuple(self.amis),
            instance_profile=self.instance_profile,
            reservations=tuple(self.reservations),
            placement_group=self.placement_group,
        )


class _Problem(Exception):
    """A part of a class that cannot be used, as the condition that says so."""

    def __init__(self, condition: Condition) -> None:
        self.condition = condition
        super().__init__(condition.message)


class AwsNodeClasses:
    """Resolves node classes and reports on them; what it asks of AWS is remembered by its sources."""

    def __init__(
        self, sources: Sources, *, region: str, cluster: Callable[[], ClusterFacts], validator: Validator | None = None
    ) -> None:
        """Without a validator a class whose parts are there is valid."""
        self._sources = sources
        self._region = region
        self._cluster = cluster
        self._validator = validator

    async def resolve(self, node_class: AwsNodeClass) -> ResolvedNodeClass:
        """Return what a class means now; see `NodeClassResolver`."""
        look, conditions, errors = await self._look(node_class)
        fault = self._fault(node_class)
        missing = status.problems((*conditions, fault) if fault else conditions)
        if missing:
            raise NodeClassNotReadyError(missing)
        if fault is not None:
            raise NodeClassNotReadyError(fault.message)
        if errors:
            raise errors[0]
        return look.resolved(node_class)

    async def inspect(self, node_class: AwsNodeClass) -> ClassReport:
        """Return what the status of a class is to say."""
        look, conditions, errors = await self._look(node_class)
        verdict = self._fault(node_class)
        is_whole = not errors and not status.problems(conditions)
        if verdict is None and is_whole and self._validator is not None and node_class.is_ec2_node_class:
            verdict = await self._validator.validate(look.resolved(node_class))
        conditions = conditions if verdict is None else (*conditions, verdict)
        # What could not be asked for is not known to be gone: the status keeps it.
        was_asked = not errors and not any(one.reason == _UNAUTHORIZED for one in conditions)
        fields = status_fields(look.resolved(node_class)) if was_asked else {}
        return ClassReport(conditions, fields, _LOOK_AGAIN_S)

    def _fault(self, node_class: AwsNodeClass) -> Condition | None:
        """Return what is wrong whatever the account has (A-16)."""
        is_told_nothing = node_class.ami_family == "Custom" or bool(node_class.launch_template)
        if not is_told_nothing and not self._cluster().endpoint:
            # Unknown, not False: at the start of the process nobody has been asked yet.
            message = "the cluster's endpoint is not known: name it in the settings, or allow eks:DescribeCluster"
            return Condition(status.VALIDATED, "Unknown", "ClusterNotFound", message)
        if node_class.ami_family == "AL2023" and not self._cluster().service_cidr:
            message = "the cluster's service CIDR, which AL2023 nodes must be told, could not be found out"
            return Condition(status.VALIDATED, "False", "ClusterCIDRResolutionFailed", message)
        return class_fault(node_class)

    async def clean_up(self, node_class: AwsNodeClass) -> None:
        """Delete what was made for a class, which goes (A-3). Raises CloudError."""
        await self._sources.templates.delete_of(node_class.name)
        await self._sources.profiles.delete_of(node_class)

    async def delete_unused_profiles(self, used: Collection[str]) -> None:
        """Delete instance profiles that neither a class nor one of these names of machines' profiles needs (A-14)."""
        await self._sources.profiles.delete_unused(used)

    # --- the parts ----------------------------------------------------------------------------------------------------

    async def _look(self, node_class: AwsNodeClass) -> tuple[_Look, tuple[Condition, ...], list[CloudError]]:
        """Return what was found, a condition for each part, and the errors of those that could not be asked for."""
        look = _Look()
        errors: list[CloudError] = []

        async def part(kind: str, find: Awaitable[None]) -> Condition:
            try:
                await find
            except _Problem as problem:
                return problem.condition
            except ProfileError as error:
                return Condition(kind, "False", error.reason, str(error))
            except UnauthorizedError as error:
                return Condition(kind, "False", _UNAUTHORIZED, str(error))
            except CloudError as error:
                errors.append(error)
                return Condition(kind, "Unknown", "CallFailed", str(error))
            return is_there(kind)

        wanted = [(status.SUBNETS, self._subnets(node_class, look))]
        if not node_class.launch_template:  # one of the user's own has all of these in it
            wanted += [
                (status.SECURITY_GROUPS, self._groups(node_class, look)),
                (status.IMAGES, self._images(node_class, look)),
                (status.PROFILE, self._profile(node_class, look)),
            ]
        if selects_reservations(node_class):
            wanted.append((status.RESERVATIONS, self._reservations(node_class, look)))
        if names_group(node_class):
            wanted.append((status.PLACEMENT_GROUP, self._placement(node_class, look)))
        conditions = await asyncio.gather(*(part(kind, find) for kind, find in wanted))
        return look, tuple(conditions), errors

    async def _subnets(self, node_class: AwsNodeClass, look: _Look) -> None:
        look.subnets = await self._sources.network.subnets(node_class.subnet_terms)
        if not look.subnets:
            hint = self._looked_for(node_class.subnet_terms)
            raise _Problem(selects_nothing("SubnetsReady", node_class.name, hint))

    async def _groups(self, node_class: AwsNodeClass, look: _Look) -> None:
        look.security_groups = await self._sources.network.security_groups(node_class.security_group_terms)
        if not look.security_groups:
            hint = self._looked_for(node_class.security_group_terms)
            raise _Problem(selects_nothing("SecurityGroupsReady", node_class.name, hint))

    async def _images(self, node_class: AwsNodeClass, look: _Look) -> None:
        alias, version = alias_of(node_class), self._cluster().version
        fault = alias_fault(alias[0], version) if alias else None
        if fault:
            raise _Problem(Condition(status.IMAGES, "False", "UnsupportedAlias", fault))
        look.amis = await self._sources.amis.find(node_class)
        if not look.amis:
            hint = self._looked_for(node_class.ami_terms)
            if alias:
                hint = f"there is no release {alias[1]!r} for Kubernetes {version} in {self._region}"
            family = alias[0] if alias else node_class.ami_family
            raise _Problem(selects_nothing("AMIsReady", node_class.name, hint, family=family))

    async def _profile(self, node_class: AwsNodeClass, look: _Look) -> None:
        look.instance_profile = await self._sources.profiles.profile_of(node_class)

    async def _reservations(self, node_class: AwsNodeClass, look: _Look) -> None:
        look.reservations = await self._sources.reservations.find(node_class)

    async def _placement(self, node_class: AwsNodeClass, look: _Look) -> None:
        look.placement_group = await self._sources.placement_groups.find(node_class)
        if look.placement_group is None:
            hint = f"create it in {self._region}, or correct spec.placementGroupSelector"
            raise _Problem(selects_nothing("PlacementGroupReady", node_class.name, hint))

    def _looked_for(self, terms: Sequence[SelectorTerm]) -> str:
        return f"looked in {self._region} for " + " or ".join(_described(term) for term in terms)


def _described(term: SelectorTerm) -> str:
    named = {
        "id": term.id,
        "name": term.name,
        "owner": term.owner,
        "parameter": term.ssm_parameter,
        **{f"tag {key}": value for key, value in term.tags.items()},
    }
    return ", ".join(f"{what} {value}" for what, value in named.items() if value)
