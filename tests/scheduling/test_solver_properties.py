"""Laws of the solver, on worlds made at random and judged by the independent verifier."""

import os
from dataclasses import replace

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from karpenter.model.core import Pod
from karpenter.scheduling import Demand, Options, Policy, Snapshot, catalog, requests, solve
from tests.scheduling import worlds
from tests.scheduling.toys import FREE, unplaced
from tests.scheduling.verifier import breaches, could_launch

some = settings(max_examples=int(os.environ.get("SOLVER_EXAMPLES", "20")))
policies = st.sampled_from([Options(), FREE, Options(Policy(preferences="Ignore"))])


@some
@given(worlds.snapshots(limited=True), worlds.pod_lists(), policies)
def test_every_plan_keeps_every_rule(snapshot: Snapshot, pods: tuple[Pod, ...], options: Options) -> None:
    demand = Demand.each(pods)
    assert breaches(snapshot, demand, solve(snapshot, demand, options), options) == []


@some
@given(worlds.snapshots(limited=True), worlds.pod_lists(), st.randoms(use_true_random=False))
def test_the_order_of_pods_and_nodes_changes_nothing(snapshot: Snapshot, pods: tuple[Pod, ...], random) -> None:
    first = solve(snapshot, Demand.each(pods))
    shuffled_pods, shuffled_nodes = list(pods), list(snapshot.nodes)
    random.shuffle(shuffled_pods)
    random.shuffle(shuffled_nodes)
    second = solve(replace(snapshot, nodes=tuple(shuffled_nodes)), Demand.each(shuffled_pods))
    assert second == first


@some
@given(worlds.snapshots(), worlds.pod_lists())
def test_what_was_remembered_from_other_solves_changes_nothing(snapshot: Snapshot, pods: tuple[Pod, ...]) -> None:
    first = solve(snapshot, Demand.each(pods))
    catalog._tables.clear()
    requests._known.clear()
    assert repr(solve(snapshot, Demand.each(pods))) == repr(first)


@some
@given(worlds.snapshots(), worlds.pod_lists())
def test_without_limits_a_pod_stays_pending_only_if_no_machine_could_hold_it_alone(
    snapshot: Snapshot, pods: tuple[Pod, ...]
) -> None:
    refused = unplaced(solve(snapshot, Demand.each(pods)))
    assert [pod.metadata.name for pod in pods if pod.metadata.name in refused and could_launch(snapshot, pod)] == []


@some
@given(worlds.snapshots(), worlds.nodes("extra"), worlds.pod_lists())
def test_one_more_node_makes_no_pod_unschedulable(snapshot: Snapshot, extra, pods: tuple[Pod, ...]) -> None:
    before = unplaced(solve(snapshot, Demand.each(pods)))
    after = unplaced(solve(replace(snapshot, nodes=(*snapshot.nodes, extra)), Demand.each(pods)))
    assert after - before == set()


@some
@given(worlds.snapshots(limited=True), worlds.pod_lists(most_kinds=1, most_copies=8))
def test_a_class_of_equal_pods_finds_as_many_places_as_its_pods_one_by_one(
    snapshot: Snapshot, pods: tuple[Pod, ...]
) -> None:
    # Priorities that differ make every pod a class of its own.
    apart = [with_priority(pod, at) for at, pod in enumerate(pods)]
    assert len(unplaced(solve(snapshot, Demand.each(apart)))) == len(unplaced(solve(snapshot, Demand.each(pods))))


@some
@given(worlds.snapshots(), worlds.pod_lists())
def test_together_pods_never_cost_more_than_each_on_a_machine_of_its_own(
    snapshot: Snapshot, pods: tuple[Pod, ...]
) -> None:
    empty = replace(snapshot, nodes=())
    alone = sum(solve(empty, Demand.each([pod]), FREE).price for pod in pods)
    assert solve(empty, Demand.each(pods), FREE).price <= alone + 1e-9


def with_priority(pod: Pod, priority: int) -> Pod:
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, priority=priority))
