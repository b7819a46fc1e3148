"""What a drain waits for, in words: spec v1alpha5 LIF-33, case PDB-BLOCK."""

import msgspec

from karpenter.lifecycle.drain import drain_step
from karpenter.lifecycle.waiting import waiting_words
from karpenter.model.core import Pod, PodDisruptionBudget
from karpenter.model.meta import Condition
from karpenter.model.pdbs import Pdbs
from karpenter.model.units import UnixSeconds, to_rfc3339
from tests.builders import EPOCH, a_pdb, a_pod

WEB = {"app": "web"}


def words(*pods: Pod, pdbs: tuple[PodDisruptionBudget, ...] = ()) -> str:
    return waiting_words(drain_step(pods, EPOCH), Pdbs(pdbs), EPOCH)


def web(name: str = "web", **fields: object) -> Pod:
    return a_pod(name, node="n", labels=WEB, **fields)


def test_nothing_left_to_wait_for_is_just_draining() -> None:
    assert words() == "draining"


def test_five_pods_are_named_and_the_rest_is_counted() -> None:
    assert words(*(web(f"p{at}") for at in range(7))) == (
        "7 pods are waiting to be evicted: default/p0, default/p1, default/p2, default/p3, default/p4 and 2 more"
    )


def test_a_budget_that_allows_nothing_is_named_once_and_since_when() -> None:
    pdb = a_pdb("keep", selects=WEB, allowed=0)
    since = Condition("DisruptionAllowed", "False", last_transition_time=to_rfc3339(UnixSeconds(EPOCH - 60)))
    pdb = msgspec.structs.replace(pdb, status=msgspec.structs.replace(pdb.status, conditions=(since,)))
    assert words(web("a"), web("b"), pdbs=(pdb,)) == (
        "2 pods are waiting to be evicted: default/a, default/b; "
        "budget default/keep allows none since 2023-11-14T22:12:20Z"
    )


def test_two_budgets_over_one_pod_are_both_named() -> None:
    pdbs = (a_pdb("one", selects=WEB, allowed=1), a_pdb("two", selects=WEB, allowed=1))
    assert words(web(), pdbs=pdbs).endswith("; budgets default/one and default/two cover the same pod")


def test_a_protected_pods_annotation_is_quoted() -> None:
    assert words(web(annotations={"karpenter.sh/do-not-evict": "true"})).endswith(
        "; default/web says karpenter.sh/do-not-evict: true"
    )


def test_a_pod_that_is_ending_already_is_held_by_nobody() -> None:
    leaving = web(deleted=to_rfc3339(UnixSeconds(EPOCH + 5)))
    assert words(leaving, pdbs=(a_pdb("keep", selects=WEB),)) == "1 pod is waiting to be evicted: default/web"
