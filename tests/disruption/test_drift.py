"""Drift: spec v1 D-18, D-27, D-28; spec v1alpha5 §5.4, DEP-22; vectors TV-124 … TV-126."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from karpenter.disruption.drift import drift, drifted
from karpenter.disruption.verdict import Verdict
from karpenter.model import labels
from karpenter.model.core import Pod
from karpenter.model.meta import Condition
from karpenter.model.nodeclaim import DRIFTED, LAUNCHED, NodeClaim
from karpenter.model.nodepool import Budget, Disruption, NodePool
from karpenter.model.pools import decode_pool
from karpenter.model.units import UnixSeconds, to_rfc3339
from karpenter.provisioning.claims import chosen_labels
from karpenter.scheduling.snapshot import NodeView
from tests.builders import (
    CREATED,
    EPOCH,
    a_claim,
    a_node,
    a_node_pool,
    a_node_view,
    a_pod,
    a_pool,
    a_pool_view,
    a_provisioner,
    a_snapshot,
    an_instance_type,
)

TYPES = {"m.4": an_instance_type("m.4", zones=("a",))}
PLACE = {
    labels.INSTANCE_TYPE: "m.4",
    labels.ZONE: "a",
    labels.CAPACITY_TYPE: "on-demand",
    labels.ARCH: "amd64",
    labels.OS: "linux",
    labels.INSTANCE_CATEGORY: "m",
    labels.INSTANCE_GENERATION: "5",
}


def decoded(raw: dict[str, Any]) -> NodePool:
    return decode_pool(raw)[0]


def claim_of(pool: NodePool, *, created: str = CREATED, **given: str) -> NodeClaim:
    """Return a launched claim made from the pool as it is."""
    claim = a_claim("c", pool=pool, conditions=[LAUNCHED], created=created, labels={**PLACE, **pool.template.labels})
    extra = {**chosen_labels(pool.node_requirements(), labels.WELL_KNOWN), **given}
    metadata = replace_metadata(claim, labels={**extra, **claim.labels}, annotations=dict(pool.hash_annotations))
    return replace(claim, metadata=metadata)


def replace_metadata(claim: NodeClaim, **fields: Any) -> Any:
    return msgspec.structs.replace(claim.metadata, **fields)


def reason(claim: NodeClaim, pool: NodePool, *, now: float = EPOCH) -> str | None:
    found = drifted(claim, pool, TYPES, now=UnixSeconds(now))
    return found.reason if found else None


@pytest.mark.parametrize("make,kind", [(a_provisioner, "Provisioner"), (a_node_pool, "NodePool")])
def test_a_node_made_from_the_pool_as_it_is_has_not_drifted(make: Any, kind: str) -> None:
    pool = decoded(make())
    assert reason(claim_of(pool), pool) is None


def test_tv125_another_label_in_the_template_drifts_and_another_weight_does_not() -> None:
    claim = claim_of(decoded(a_provisioner(labels={"team": "a"})))
    assert reason(claim, decoded(a_provisioner(labels={"team": "b"}))) == "ProvisionerDrifted"
    assert reason(claim, decoded(a_provisioner(labels={"team": "a"}, weight=50))) is None


def test_d28_behaviour_never_drifts() -> None:
    claim = claim_of(decoded(a_node_pool()))
    changed = a_node_pool(weight=7, limits={"cpu": "10"}, disruption={"consolidateAfter": "5m"})
    assert reason(claim, decoded(changed)) is None


def test_a_node_pool_names_itself_in_the_reason() -> None:
    claim = claim_of(decoded(a_node_pool()))
    tainted = a_node_pool(template={"taints": [{"key": "a", "effect": "NoSchedule"}]})
    assert reason(claim, decoded(tainted)) == "NodePoolDrifted"


def zones(*values: str) -> NodePool:
    return decoded(a_provisioner(requirements=[{"key": labels.ZONE, "operator": "In", "values": list(values)}]))


def test_tv126_requirements_drift_when_they_exclude_the_node_and_not_when_they_widen() -> None:
    claim = claim_of(zones("a", "b"))
    assert reason(claim, zones("a", "b", "c")) is None
    assert reason(claim, zones("b")) == "RequirementsDrifted"


def test_a_digest_of_another_version_says_nothing_d27() -> None:
    pool = decoded(a_node_pool())
    claim = claim_of(pool)
    old = {**claim.metadata.annotations, labels.NODEPOOL_HASH: "1", labels.NODEPOOL_HASH_VERSION: "v2"}
    assert reason(replace(claim, metadata=replace_metadata(claim, annotations=old)), pool) is None


def test_dep35_a_missing_digest_says_nothing() -> None:
    pool = decoded(a_provisioner())
    claim = claim_of(pool)
    assert reason(replace(claim, metadata=replace_metadata(claim, annotations={})), pool) is None


def test_a_type_that_is_no_longer_offered_drifts_after_an_hour_d27() -> None:
    pool = decoded(a_provisioner())
    claim = claim_of(pool)
    gone = {"m.8": an_instance_type("m.8", zones=("a",))}
    created = claim.metadata.created_at
    assert created is not None
    assert drifted(claim, pool, gone, now=UnixSeconds(created + 3600)) is None
    found = drifted(claim, pool, gone, now=UnixSeconds(created + 3601))
    assert found is not None
    assert found == ("InstanceTypeNotFound", "m.4 is no longer offered as on-demand in a")


def test_tv124_with_drift_off_and_before_launch_nothing_drifts() -> None:
    old, new = decoded(a_provisioner(labels={"team": "a"})), decoded(a_provisioner(labels={"team": "b"}))
    claim = claim_of(old)
    off = replace(new, disruption=replace(new.disruption, drift=False))
    assert reason(claim, off) is None
    assert reason(replace(claim, conditions=()), new) is None


# --- the method -------------------------------------------------------------------------------------------------------

POOL = a_pool(disruption=Disruption(budgets=(Budget("1", reasons=frozenset({"Drifted", "Expired"})),)))


def a_drifted_view(name: str, *pods: Pod, since: float = EPOCH, pool: NodePool = POOL, cpu: str = "4") -> NodeView:
    condition = Condition(DRIFTED, "True", "AMIDrift", last_transition_time=to_rfc3339(UnixSeconds(since)))
    claim = replace(a_claim(f"{name}-claim", pool=pool), conditions=(condition,))
    return a_node_view(name, pool=pool, node=a_node(name, pool=pool), claim=claim, pods=pods, cpu=cpu)


def verdict(*views: NodeView, pool: NodePool = POOL, **snapshot: Any) -> Verdict:
    return drift(a_snapshot(nodes=views, pools=[a_pool_view(pool, *snapshot.pop("types", ()))], **snapshot))


def test_the_longest_drifted_node_is_replaced_first_and_the_budget_holds_the_others() -> None:
    full = [a_pod(f"p{i}", node=f"n{i}", cpu="3") for i in range(3)]
    views = [a_drifted_view(f"n{i}", full[i], since=EPOCH - 10 * (i + 1)) for i in range(3)]
    found = verdict(*views)
    (command,) = found.commands
    assert (command.nodes, len(command.replacements), command.targets) == (("n2",), 1, ())
    assert [(item.node, item.code) for item in found.blocked] == [("n1", "Budget"), ("n0", "Budget")]


def test_pods_move_to_room_that_is_there_before_anything_is_launched() -> None:
    view = a_drifted_view("n", a_pod("p", node="n", cpu="1"))
    (command,) = verdict(view, a_node_view("roomy", pool=POOL, node=a_node("roomy"))).commands
    assert (command.replacements, command.targets) == ((), ("roomy",))


def test_dep34_empty_drifted_nodes_go_first_and_together() -> None:
    wide = a_pool(disruption=Disruption(budgets=(Budget("2"),)))
    views = [a_drifted_view("busy", a_pod("p", node="busy"), since=EPOCH - 99, pool=wide)]
    views += [a_drifted_view(name, pool=wide) for name in ("e1", "e2")]
    (command,) = verdict(*views, pool=wide).commands
    assert command.nodes == ("e1", "e2")


def test_a_node_whose_pods_would_find_no_place_stays_and_the_next_one_is_tried() -> None:
    wide = a_pool(disruption=Disruption(budgets=(Budget("100%"),)))
    big = a_drifted_view("big", a_pod("huge", node="big", cpu="64"), since=EPOCH - 99, pool=wide, cpu="96")
    found = verdict(big, a_drifted_view("n", a_pod("p", node="n", cpu="3"), pool=wide), pool=wide)
    assert [command.nodes for command in found.commands] == [("n",)]
    (blocked,) = found.blocked
    assert (blocked.code, blocked.since) == ("Unschedulable", EPOCH - 99)
    assert "pod default/huge would find no place" in blocked.message


def test_a_pending_pod_that_fits_nowhere_does_not_stop_the_roll() -> None:
    hopeless = a_pod("hopeless", node_selector={"nobody": "has-this"})
    found = verdict(a_drifted_view("n", a_pod("p", node="n", cpu="3")), pending=[hopeless])
    assert [command.nodes for command in found.commands] == [("n",)]


def test_a_pool_whose_drift_is_off_keeps_its_nodes() -> None:
    off = a_pool(disruption=replace(POOL.disruption, drift=False))
    assert verdict(a_drifted_view("n", pool=off), pool=off) == Verdict()
