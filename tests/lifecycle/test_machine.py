"""The table of a claim's life: spec v1 L-3, L-5, L-6; LIF-13, LIF-14, LIF-20 … LIF-22, LIF-25; TV-105 … TV-107."""

from dataclasses import replace

from karpenter.lifecycle.machine import (
    GiveUp,
    Initialize,
    Launch,
    Register,
    Timeouts,
    next_step,
    registration_patch,
)
from karpenter.model import labels
from karpenter.model.meta import Condition, ObjectMeta
from karpenter.model.nodeclaim import INITIALIZED, LAUNCHED, READY, REGISTERED, NodeClaim
from karpenter.model.units import ProviderID, UnixSeconds, to_rfc3339
from tests.builders import EPOCH, a_node, a_taint

STARTUP = a_taint("example.com/another-taint:NoSchedule")
SPECIAL = a_taint("example.com/special-taint:NoSchedule")


def a_claim(*done: str, since: UnixSeconds = EPOCH, **fields: object) -> NodeClaim:
    conditions = tuple(Condition(kind, "True", kind, last_transition_time=to_rfc3339(since)) for kind in done)
    claim = NodeClaim(
        metadata=ObjectMeta(name="default-x", uid="uid-claim", labels={labels.PROVISIONER: "default"}),
        requests={"cpu": 1000, "pods": 1},
        taints=(SPECIAL,),
        startup_taints=(STARTUP,),
        provider_id=ProviderID("sim:///node") if done else None,
        conditions=conditions,
    )
    return replace(claim, **fields)


def waiting(claim: NodeClaim, kind: str, since: UnixSeconds) -> NodeClaim:
    condition = Condition(kind, "Unknown", "Waiting", last_transition_time=to_rfc3339(since))
    return replace(claim, conditions=(*claim.conditions, condition))


def test_a_new_claim_is_launched_and_its_conditions_begin() -> None:
    step = next_step(a_claim(), (), EPOCH)
    assert step.action == Launch()
    assert {condition.type: condition.status for condition in step.conditions} == {
        LAUNCHED: "Unknown",
        REGISTERED: "Unknown",
        INITIALIZED: "Unknown",
        READY: "Unknown",
    }


def test_a_claim_that_is_not_launched_within_five_minutes_is_given_up_l3() -> None:
    claim = waiting(a_claim(), LAUNCHED, EPOCH)
    assert next_step(claim, (), UnixSeconds(EPOCH + 299)).action == Launch()
    assert next_step(claim, (), UnixSeconds(EPOCH + 300)).action == GiveUp("launch_timeout")


def test_tv107_a_node_that_does_not_join_within_fifteen_minutes_is_given_up() -> None:
    claim = waiting(a_claim(LAUNCHED), REGISTERED, EPOCH)
    at_14_59 = next_step(claim, (), UnixSeconds(EPOCH + 14 * 60 + 59))
    assert at_14_59.action is None
    assert at_14_59.requeue_after_s == 1
    assert next_step(claim, (), UnixSeconds(EPOCH + 15 * 60)).action == GiveUp("registration_timeout")


def test_time_limits_are_settings() -> None:
    claim = waiting(a_claim(), LAUNCHED, EPOCH)
    step = next_step(claim, (), UnixSeconds(EPOCH + 10), timeouts=Timeouts(launch_s=10))
    assert step.action == GiveUp("launch_timeout")


def test_two_nodes_with_one_provider_id_are_an_error_and_not_a_registration() -> None:
    step = next_step(a_claim(LAUNCHED), (a_node("a"), a_node("b")), EPOCH)
    assert step.action is None
    assert [c.reason for c in step.conditions if c.type == REGISTERED] == ["MultipleNodesFound"]


def test_a_joined_node_is_registered() -> None:
    node = a_node(ready=False)
    step = next_step(a_claim(LAUNCHED), (node,), EPOCH)
    assert step.action == Register(node)
    assert (REGISTERED, "True") in {(c.type, c.status) for c in step.conditions}


def test_tv105_a_startup_taint_holds_back_initialization_until_something_removes_it() -> None:
    claim = a_claim(LAUNCHED, REGISTERED)
    tainted = next_step(claim, (a_node(taints=["example.com/another-taint:NoSchedule"]),), EPOCH)
    assert tainted.action is None
    assert [c.reason for c in tainted.conditions if c.type == INITIALIZED] == ["StartupTaintsExist"]
    node = a_node(taints=["example.com/special-taint:NoSchedule"])
    assert next_step(claim, (node,), EPOCH).action == Initialize(node)


def test_a_node_that_is_not_ready_is_not_initialized_lif21() -> None:
    step = next_step(a_claim(LAUNCHED, REGISTERED), (a_node(ready=False),), EPOCH)
    assert [c.reason for c in step.conditions if c.type == INITIALIZED] == ["NodeNotReady"]


def test_an_ephemeral_taint_holds_back_initialization_lif20c() -> None:
    step = next_step(
        a_claim(LAUNCHED, REGISTERED), (a_node(taints=["node.kubernetes.io/not-ready:NoSchedule"]),), EPOCH
    )
    assert [c.reason for c in step.conditions if c.type == INITIALIZED] == ["KnownEphemeralTaintsExist"]


def test_tv106_a_requested_device_must_be_offered_before_the_node_counts_as_initialized() -> None:
    claim = a_claim(LAUNCHED, REGISTERED, requests={"cpu": 1000, "nvidia.com/gpu": 1})
    step = next_step(claim, (a_node(resources={"nvidia.com/gpu": "0"}),), EPOCH)
    assert [c.reason for c in step.conditions if c.type == INITIALIZED] == ["ResourceNotRegistered"]
    node = a_node(resources={"nvidia.com/gpu": "1"})
    assert next_step(claim, (node,), EPOCH).action == Initialize(node)


def test_initialization_is_one_way_and_a_finished_claim_needs_nothing_lif22() -> None:
    claim = a_claim(LAUNCHED, REGISTERED, INITIALIZED, READY)
    step = next_step(claim, (a_node(ready=False),), EPOCH)
    assert step.action is None
    assert step.conditions == ()


def test_registration_merges_labels_and_taints_and_takes_the_unregistered_taint_away_l5() -> None:
    node = a_node(taints=["karpenter.sh/unregistered:NoExecute"], labels={"kept": "yes"})
    patch = registration_patch(a_claim(LAUNCHED), node)
    assert patch["metadata"]["labels"] == {labels.PROVISIONER: "default", labels.REGISTERED: "true"}
    assert patch["metadata"]["finalizers"] == [labels.TERMINATION_FINALIZER]
    assert patch["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodeClaim",
            "name": "default-x",
            "uid": "uid-claim",
            "blockOwnerDeletion": True,
        }
    ]
    assert patch["spec"]["taints"] == [
        {"key": SPECIAL.key, "effect": "NoSchedule"},
        {"key": STARTUP.key, "effect": "NoSchedule"},
    ]


def test_a_node_that_brought_its_own_taints_gets_none_at_registration() -> None:
    node = a_node(taints=["karpenter.sh/unregistered:NoExecute"], labels={labels.DO_NOT_SYNC_TAINTS: "true"})
    assert registration_patch(a_claim(LAUNCHED), node)["spec"] == {"taints": []}
