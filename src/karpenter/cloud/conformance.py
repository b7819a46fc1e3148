"""What every cloud provider must do, as tests that any of them runs.

In a test module of the provider, with pytest and pytest-asyncio in auto mode::

    class TestNimbus(ProviderConformance):
        @pytest.fixture
        async def harness(self) -> Harness:
            return Harness(provider=..., pool=..., claim=..., wait=...)
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace

from karpenter.cloud.errors import InstanceNotFoundError, InsufficientCapacityError, NodeClassNotReadyError
from karpenter.cloud.provider import CloudProvider
from karpenter.model import labels
from karpenter.model.instance import Instance
from karpenter.model.nodeclaim import NodeClaim
from karpenter.model.nodepool import NodePool
from karpenter.model.resources import CPU
from karpenter.model.units import ProviderID

_PATIENCE_S = 1800.0
"""How long an instance may take to end."""
_POLL_S = 5.0


@dataclass(frozen=True, slots=True)
class Harness:
    """One provider over a cloud in which nothing runs yet, and what the suite needs to use it."""

    provider: CloudProvider
    pool: NodePool
    """A pool that the provider can serve."""
    claim: Callable[[str], NodeClaim]
    """Makes a small claim of the pool with the given name; equal names give equal uids, others different ones."""
    wait: Callable[[float], Awaitable[None]]
    """Lets so many seconds of the cloud's time pass."""
    sell_out: Callable[[], None] | None = None
    """Takes all capacity away; None where that cannot be arranged."""
    orphan: NodePool | None = None
    """A pool whose node class does not exist; None where every pool is served."""


class ProviderConformance:
    """The suite. Subclasses provide the fixture `harness`."""

    async def test_creating_twice_for_one_claim_gives_one_machine(self, harness: Harness) -> None:
        """Also across a crash: the claim is all that the second call has in common with the first."""
        first = await harness.provider.create(harness.claim("one"))
        second = await harness.provider.create(harness.claim("one"))
        assert first.provider_id == second.provider_id
        assert len(await harness.provider.list_instances()) == 1

    async def test_creating_at_once_for_one_claim_gives_one_machine(self, harness: Harness) -> None:
        """Two callers that do not know of each other."""
        created = await asyncio.gather(*(harness.provider.create(harness.claim("one")) for _ in range(3)))
        assert len({instance.provider_id for instance in created}) == 1

    async def test_two_claims_get_two_machines(self, harness: Harness) -> None:
        """Machines are not shared."""
        one, two = await asyncio.gather(*(harness.provider.create(harness.claim(name)) for name in ("one", "two")))
        assert one.provider_id != two.provider_id

    async def test_a_machine_is_what_its_claim_allows(self, harness: Harness) -> None:
        """Type, zone and capacity type, and room for the requests."""
        claim = harness.claim("one")
        instance = await harness.provider.create(claim)
        named = {
            labels.INSTANCE_TYPE: instance.instance_type,
            labels.ZONE: instance.zone,
            labels.CAPACITY_TYPE: instance.capacity_type,
        }
        assert named.items() <= instance.labels.items()
        refused = [key for key, value in named.items() if not claim.requirements.allowed(key).allows(value)]
        assert refused == []
        assert all(instance.allocatable.get(name, 0) >= amount for name, amount in claim.requests.items())

    async def test_a_machine_is_of_an_offered_type(self, harness: Harness) -> None:
        """What plans were made with is what comes."""
        types = {found.name: found for found in await harness.provider.instance_types(harness.pool)}
        instance = await harness.provider.create(harness.claim("one"))
        found = types[instance.instance_type]
        places = {(offering.zone, offering.capacity_type) for offering in found.offerings if offering.available}
        assert (instance.zone, instance.capacity_type) in places
        assert (dict(instance.capacity), dict(instance.allocatable)) == (dict(found.capacity), dict(found.allocatable))

    async def test_a_machine_can_be_found_again_with_its_claim(self, harness: Harness) -> None:
        """By id and in the list; garbage collection depends on the claim's uid."""
        claim = harness.claim("one")
        created = await harness.provider.create(claim)
        found = await harness.provider.get(created.provider_id)
        listed = await harness.provider.list_instances()
        assert _identity(found) == _identity(created)
        assert [_identity(instance) for instance in listed] == [_identity(created)]
        assert (found.claim_name, found.claim_uid) == (claim.name, claim.metadata.uid)
        assert not found.is_terminating

    async def test_deletion_may_be_repeated_until_the_machine_is_not_found(self, harness: Harness) -> None:
        """The finalizer of a claim goes only then."""
        provider_id = (await harness.provider.create(harness.claim("one"))).provider_id
        waited_s = 0.0
        with contextlib.suppress(InstanceNotFoundError):
            while waited_s < _PATIENCE_S:
                await harness.provider.delete(provider_id)
                await harness.wait(_POLL_S)
                waited_s += _POLL_S
        assert waited_s < _PATIENCE_S, "the machine never went"
        with _raises(InstanceNotFoundError):
            await harness.provider.get(provider_id)
        assert not list(await harness.provider.list_instances())

    async def test_a_machine_that_ends_is_listed_as_terminating(self, harness: Harness) -> None:
        """Until it is gone it may hold volumes and addresses."""
        provider_id = (await harness.provider.create(harness.claim("one"))).provider_id
        await harness.provider.delete(provider_id)
        for instance in await harness.provider.list_instances():
            assert instance.is_terminating

    async def test_an_unknown_machine_is_not_found(self, harness: Harness) -> None:
        """Never an error of another kind, or deletions would hang."""
        created = (await harness.provider.create(harness.claim("one"))).provider_id
        unknown = ProviderID(created[:-1] + ("1" if created.endswith("0") else "0"))
        with _raises(InstanceNotFoundError):
            await harness.provider.get(unknown)
        with _raises(InstanceNotFoundError):
            await harness.provider.delete(unknown)

    async def test_every_type_has_a_name_of_its_own(self, harness: Harness) -> None:
        """And its labels allow it."""
        types = await harness.provider.instance_types(harness.pool)
        names = [found.name for found in types]
        assert len(set(names)) == len(names) > 0
        assert [f.name for f in types if not f.requirements.allowed(labels.INSTANCE_TYPE).allows(f.name)] == []

    async def test_every_offering_has_zone_capacity_type_and_price(self, harness: Harness) -> None:
        """And an available one lies in the zones and capacity types that its type's labels allow."""
        for found in await harness.provider.instance_types(harness.pool):
            for offering in found.offerings:
                assert offering.zone, found.name
                assert offering.capacity_type in {labels.SPOT, labels.ON_DEMAND, labels.RESERVED}, found.name
                assert offering.price >= 0, found.name
                if offering.available:
                    assert found.requirements.allowed(labels.ZONE).allows(offering.zone), found.name
                    kinds = found.requirements.allowed(labels.CAPACITY_TYPE)
                    assert kinds.allows(offering.capacity_type), found.name

    async def test_allocatable_is_at_most_capacity(self, harness: Harness) -> None:
        """For every resource of every type."""
        for found in await harness.provider.instance_types(harness.pool):
            too_much = {name for name, amount in found.allocatable.items() if amount > found.capacity.get(name, 0)}
            assert too_much == set(), found.name

    async def test_a_claim_that_nothing_can_hold_is_refused_for_capacity(self, harness: Harness) -> None:
        """The claim is deleted then, and its pods are planned for anew."""
        huge = replace(harness.claim("one"), requests={CPU: 10**12})
        with _raises(InsufficientCapacityError):
            await harness.provider.create(huge)
        assert not list(await harness.provider.list_instances())

    async def test_sold_out_offerings_are_named_and_their_types_stay_listed(self, harness: Harness) -> None:
        """Planners need the type to say why it cannot be had."""
        if harness.sell_out is None:
            return
        before = [found.name for found in await harness.provider.instance_types(harness.pool)]
        harness.sell_out()
        error: InsufficientCapacityError | None = None
        try:
            await harness.provider.create(harness.claim("one"))
        except InsufficientCapacityError as raised:
            error = raised
        assert error is not None, "a sold-out cloud gave a machine"
        types = {found.name: found for found in await harness.provider.instance_types(harness.pool)}
        assert list(types) == before
        for name, zone, capacity_type in error.offerings:
            offered = [o for o in types[name].offerings if (o.zone, o.capacity_type) == (zone, capacity_type)]
            assert [offering.available for offering in offered] == [False]

    async def test_a_missing_node_class_is_not_ready(self, harness: Harness) -> None:
        """Only the pool that names it is affected."""
        if harness.orphan is None:
            return
        with _raises(NodeClassNotReadyError):
            await harness.provider.instance_types(harness.orphan)
        orphaned = replace(
            harness.claim("one"), pool=harness.orphan.key, node_class_ref=harness.orphan.template.node_class_ref
        )
        with _raises(NodeClassNotReadyError):
            await harness.provider.create(orphaned)
        assert await harness.provider.instance_types(harness.pool)

    async def test_a_new_machine_has_not_drifted(self, harness: Harness) -> None:
        """Drift detection must not eat its own children."""
        claim = harness.claim("one")
        instance = await harness.provider.create(claim)
        launched = replace(claim, provider_id=instance.provider_id, image_id=instance.image_id)
        assert await harness.provider.drift_reason(launched) is None

    async def test_the_provider_says_who_it_is(self, harness: Harness) -> None:
        """For logs, metrics and `--cloud`."""
        assert harness.provider.name
        assert harness.provider.node_class_kinds


def _identity(instance: Instance) -> tuple[object, ...]:
    """Return what must not change over an instance's life."""
    return (
        instance.provider_id,
        instance.instance_type,
        instance.zone,
        instance.capacity_type,
        instance.created_at,
        instance.image_id,
        instance.claim_uid,
    )


@contextlib.contextmanager
def _raises(kind: type[Exception]) -> Iterator[None]:
    try:
        yield
    except kind:
        return
    raise AssertionError(f"expected {kind.__name__}")
