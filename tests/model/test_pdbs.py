"""What disruption budgets say about one pod: spec v1 B-3, T-7."""

import msgspec
import pytest

from karpenter.model.core import PodDisruptionBudget
from karpenter.model.meta import Condition
from karpenter.model.pdbs import Pdbs, allows, refusing_since
from karpenter.model.units import to_rfc3339
from tests.builders import EPOCH, a_pdb, a_pod

WEB = {"app": "web"}
POD = a_pod("p", node="n", labels=WEB)


def names(pdbs: tuple[PodDisruptionBudget, ...]) -> list[str]:
    return [pdb.metadata.name for pdb in pdbs]


def test_a_budget_covers_pods_of_its_namespace_that_it_selects() -> None:
    pdbs = Pdbs([a_pdb("a", selects=WEB), a_pdb("b", selects={"app": "x"}), a_pdb("c", namespace="z", selects=WEB)])
    assert names(pdbs.over(POD)) == ["a"]


def test_an_empty_selector_covers_everything_and_none_covers_nothing() -> None:
    everything = a_pdb("all")
    nothing = msgspec.structs.replace(everything, spec=msgspec.structs.replace(everything.spec, selector=None))
    assert names(Pdbs([everything]).over(POD)) == ["all"]
    assert Pdbs([nothing]).over(POD) == ()


@pytest.mark.parametrize("allowed,refuses", [(0, ["a"]), (1, [])])
def test_one_budget_refuses_when_it_allows_nothing(allowed: int, refuses: list[str]) -> None:
    assert names(Pdbs([a_pdb("a", selects=WEB, allowed=allowed)]).refusing(POD)) == refuses


def test_two_budgets_refuse_together_whatever_they_allow() -> None:
    pdbs = Pdbs([a_pdb(name, selects=WEB, allowed=9) for name in ("a", "b")])
    assert names(pdbs.refusing(POD)) == ["a", "b"]


def test_an_unready_pod_may_go_under_always_allow() -> None:
    pdb = a_pdb(selects=WEB, allowed=0)
    lenient = msgspec.structs.replace(
        pdb, spec=msgspec.structs.replace(pdb.spec, unhealthy_pod_eviction_policy="AlwaysAllow")
    )
    ready = msgspec.structs.replace(
        POD, status=msgspec.structs.replace(POD.status, conditions=(Condition("Ready", "True"),))
    )
    assert (allows(lenient, POD), allows(lenient, ready), allows(pdb, POD)) == (True, False, False)


def test_since_when_a_budget_refuses_is_read_off_its_condition() -> None:
    def told(status: str) -> PodDisruptionBudget:
        condition = Condition("DisruptionAllowed", status, last_transition_time=to_rfc3339(EPOCH))
        pdb = a_pdb()
        return msgspec.structs.replace(pdb, status=msgspec.structs.replace(pdb.status, conditions=(condition,)))

    assert [refusing_since(pdb) for pdb in (told("False"), told("True"), a_pdb())] == [EPOCH, None, None]
