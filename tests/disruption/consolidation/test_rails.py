"""Rails against churn: issue 6, points 3 and 4."""

from dataclasses import replace

import pytest

from karpenter.disruption.consolidation import consolidation
from karpenter.disruption.consolidation.care import Care
from karpenter.disruption.options import DisruptionOptions
from karpenter.disruption.past import Past, PastMove
from karpenter.model import labels
from karpenter.model.nodeclaim import CONSOLIDATABLE, INITIALIZED
from karpenter.model.units import UnixSeconds, to_rfc3339
from karpenter.scheduling import Options, Policy
from karpenter.scheduling.policy import ChurnRails, FlexibilityRails, SizeRails
from karpenter.scheduling.snapshot import Snapshot
from tests.builders import EPOCH, a_claim, a_pod, an_owner
from tests.disruption.consolidation.fleets import a_fleet, a_free_pool, a_machine, later
from tests.scheduling.toys import pods

POOL = a_free_pool()
LENIENT = Policy(size=SizeRails(least_vcpu=64), flexibility=FlexibilityRails(spot_types=1))


def options(policy: Policy = LENIENT, **past: object) -> DisruptionOptions:
    return DisruptionOptions(solve=Options(policy), past=Past(**past))


def replicas(count: int, workload: str, node: str, **fields: object) -> list[object]:
    owner = an_owner("ReplicaSet", workload)
    return [a_pod(f"{workload}-{node}-{at}", owner=owner, **fields) for at in range(count)]


def spare(count: int = 1, nodes: int = 3) -> Snapshot:
    """Return nodes with so many of the same workload's pods on each, for which one node would do."""
    machines = [
        a_machine(f"n{at}", "c.8", *replicas(count, "web", f"n{at}", cpu="300m", memory="100Mi"), pool=POOL)
        for at in range(nodes)
    ]
    return a_fleet(*machines, pools=[POOL])


def codes(fleet: Snapshot, given: DisruptionOptions) -> set[str]:
    verdict = consolidation(fleet, given)
    assert verdict.commands == ()
    return {one.code for one in verdict.blocked}


def test_within_an_hour_no_more_pods_move_than_a_tenth_of_the_pools_or_ten() -> None:
    fleet = spare(count=6, nodes=5)
    verdict = consolidation(fleet, options())
    assert sum(len(command.placements) for command in verdict.commands) == 6
    assert [one.code for one in verdict.blocked].count("ChurnRail") >= 1


def test_one_nodes_pods_may_always_move_but_not_a_second_nodes() -> None:
    fleet = spare(count=12, nodes=3)
    (command,) = consolidation(fleet, options()).commands
    assert len(command.placements) == 12


def test_what_moved_within_the_hour_counts_and_what_moved_before_does_not() -> None:
    fleet = spare(count=6, nodes=3)
    just_now = PastMove(UnixSeconds(EPOCH - 60), POOL.key, 8)
    blocked = consolidation(fleet, options(moves=(just_now,))).blocked
    assert {one.until for one in blocked if one.code == "ChurnRail"} == {EPOCH - 60 + 3600}
    long_ago = replace(just_now, at=UnixSeconds(EPOCH - 3700))
    assert len(consolidation(fleet, options(moves=(long_ago,))).commands) >= 1


def test_the_only_replica_of_a_workload_moves_once_in_six_hours() -> None:
    machine = a_machine("a", "c.8", *replicas(1, "db", "a"), pool=POOL)
    fleet = a_fleet(machine, pools=[POOL])
    moved = PastMove(UnixSeconds(EPOCH - 7200), POOL.key, 1, frozenset({an_owner("ReplicaSet", "db").uid}))
    (blocked,) = consolidation(fleet, options(moves=(moved,))).blocked
    assert (blocked.code, blocked.until) == ("ChurnRail", EPOCH - 7200 + 6 * 3600)
    assert len(consolidation(later(fleet, 4 * 3600), options(moves=(moved,))).commands) == 1


def test_a_move_that_saves_little_of_what_it_touches_is_not_made() -> None:
    fleet = a_fleet(a_machine("a", "m.4", *replicas(2, "web", "a", memory="2Gi"), pool=POOL), pools=[POOL])
    strict = replace(LENIENT, churn=ChurnRails(saving_share=0.7))
    (blocked,) = consolidation(fleet, options(strict)).blocked
    assert (blocked.code, "70%" in blocked.message) == ("ChurnRail", True)
    assert len(consolidation(fleet, options()).commands) == 1


def test_commands_that_did_not_keep_their_promises_give_everything_a_rest() -> None:
    fleet = spare()
    verdict = consolidation(fleet, options(rests_until=UnixSeconds(EPOCH + 600)))
    assert {(one.code, one.until) for one in verdict.blocked} == {("ChurnRail", EPOCH + 600)}
    assert consolidation(later(fleet, 600), options(rests_until=UnixSeconds(EPOCH + 600))).commands != ()


def test_a_type_that_came_instead_of_the_planned_one_is_not_bettered_within_an_hour() -> None:
    claim = a_claim(
        "c",
        pool=POOL,
        requirements={labels.INSTANCE_TYPE: ["c.4", "c.8"]},
        conditions=[INITIALIZED, CONSOLIDATABLE],
        created=to_rfc3339(UnixSeconds(EPOCH - 1800)),
    )
    machine = a_machine("a", "c.8", *replicas(2, "web", "a"), pool=POOL, claim=claim)
    fleet = a_fleet(machine, pools=[POOL])
    (blocked,) = consolidation(fleet, options()).blocked
    assert (blocked.code, blocked.until) == ("ChurnRail", EPOCH + 1800)
    assert len(consolidation(later(fleet, 1801), options()).commands) == 1


def spot_fleet() -> Snapshot:
    spot = a_free_pool(requirements={labels.CAPACITY_TYPE: ["spot"]})
    return a_fleet(a_machine("a", "c.8", *replicas(2, "web", "a"), pool=spot, capacity_type="spot"), pools=[spot])


def test_a_spot_machine_is_swapped_only_when_the_lower_price_has_lasted() -> None:
    fleet = spot_fleet()
    verdict = consolidation(fleet, options())
    (blocked,) = verdict.blocked
    assert (blocked.code, blocked.until, verdict.watched) == ("ChurnRail", EPOCH + 1800, ("a",))
    seen = options(cheaper_since={"a": UnixSeconds(EPOCH)})
    assert consolidation(later(fleet, 1799), seen).commands == ()
    assert len(consolidation(later(fleet, 1800), seen).commands) == 1


def test_pods_with_volumes_and_single_replicas_have_to_be_worth_three_times_as_much() -> None:
    with_volume = {"name": "data", "persistentVolumeClaim": {"claimName": "d"}}
    shared = replicas(2, "web", "a")
    fleet = a_fleet(a_machine("a", "c.8", *shared, pool=POOL), pools=[POOL])
    care = Care.of(fleet, Policy())
    assert care.price(shared) == pytest.approx(0.02)
    assert care.price(replicas(1, "db", "b")) == pytest.approx(0.03)
    assert care.price([a_pod("v", volumes=[with_volume], owner=an_owner("ReplicaSet", "web"))]) == pytest.approx(0.03)
    assert care.price(pods(1, owner=None)) == pytest.approx(0.03)


def test_rails_off_lifts_them_all() -> None:
    free = replace(LENIENT, rails=False, move_price=0.0)
    moved = PastMove(UnixSeconds(EPOCH - 60), POOL.key, 99)
    given = options(free, moves=(moved,), rests_until=UnixSeconds(EPOCH + 600))
    assert sum(len(command.nodes) for command in consolidation(spare(), given).commands) >= 2
