"""Spread constraints that the cluster gives to pods of Services and workloads (S-38, S-39)."""

import pytest

from karpenter.model import labels
from karpenter.model.core import Service, ServiceSpec
from karpenter.model.meta import LabelSelector, ObjectMeta
from karpenter.scheduling import Options, Policy, Solution
from karpenter.scheduling.defaults import read_default_spread
from tests.builders import a_pod, an_owner
from tests.scheduling.toys import pods, solved

WEB = {"app": "web"}


def entry(key: str = labels.ZONE, when: str = "DoNotSchedule", **more) -> dict:
    return {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when, **more}


def document(*constraints: dict) -> dict:
    return {"podTopologySpread": {"defaultConstraints": list(constraints)}}


SPREAD = Options(Policy(default_spread=read_default_spread(document(entry()))))


def zones(solution: Solution) -> list[str]:
    placed = {plan.name: plan.zone for plan in solution.new_claims}
    return sorted(placed[name] for name in solution.placements.values())


def small(count: int, **fields):
    """Return pods of which one machine holds them all."""
    return pods(count, cpu="100m", memory="64Mi", **fields)


def a_service(selector: dict[str, str] = WEB, namespace: str = "default") -> Service:
    return Service(ObjectMeta(name="web", namespace=namespace), ServiceSpec(selector))


def test_pods_of_a_service_are_spread() -> None:
    web = small(3, labels=WEB, owner=None)
    assert zones(solved(web, services=(a_service(),), options=SPREAD)) == ["a", "b", "c"]
    assert len(solved(web, services=(a_service(),)).new_claims) == 1


def test_services_of_other_pods_say_nothing() -> None:
    web = small(3, labels=WEB, owner=None)
    for service in (a_service({"app": "db"}), a_service(namespace="shop"), a_service({})):
        assert len(solved(web, services=(service,), options=SPREAD).new_claims) == 1


def test_pods_of_a_workload_are_spread_by_what_it_selects() -> None:
    owner = an_owner("StatefulSet", "db")
    db = small(3, labels={"app": "db"}, owner=owner)
    selectors = {("default", "StatefulSet", "db"): LabelSelector({"app": "db"})}
    assert zones(solved(db, selectors=selectors, options=SPREAD)) == ["a", "b", "c"]
    assert len(solved(db, options=SPREAD).new_claims) == 1


def test_a_replica_set_is_known_by_the_hash_on_its_pods() -> None:
    web = small(3, labels={**WEB, "pod-template-hash": "5d4"}, owner="ReplicaSet")
    assert zones(solved(web, options=SPREAD)) == ["a", "b", "c"]


def test_a_bare_job_pod_is_given_nothing() -> None:
    """V53."""
    assert len(solved(small(3, labels=WEB, owner="Job"), options=SPREAD).new_claims) == 1


def test_a_constraint_of_its_own_keeps_the_defaults_away() -> None:
    own = entry(labels.HOSTNAME, "ScheduleAnyway", labelSelector={"matchLabels": {"app": "none"}})
    web = small(3, labels=WEB, owner=None, spread=[own])
    assert len(solved(web, services=(a_service(),), options=SPREAD).new_claims) == 1


def test_soft_defaults_are_preferences() -> None:
    soft = read_default_spread(document(entry(labels.HOSTNAME, "ScheduleAnyway")))
    web = small(3, labels=WEB, owner=None)
    respected = solved(web, services=(a_service(),), options=Options(Policy(default_spread=soft)))
    assert len(respected.new_claims) == 3
    ignored = Options(Policy(default_spread=soft, preferences="Ignore"))
    assert len(solved(web, services=(a_service(),), options=ignored).new_claims) == 1


def test_pods_of_two_workloads_are_spread_apart_from_each_other() -> None:
    first = small(2, name="x", labels={"pod-template-hash": "x"})
    second = small(2, name="y", labels={"pod-template-hash": "y"})
    solution = solved([*first, *second, a_pod("alone", owner="Job")], options=SPREAD)
    assert solution.unschedulable == ()
    assert {len({solution.placements["default", f"{name}-{at}"] for at in range(2)}) for name in "xy"} == {2}


def test_the_document_may_name_everything_but_the_selector() -> None:
    (constraint,) = read_default_spread(document(entry(minDomains=2, nodeTaintsPolicy="Honor")))
    assert (constraint.min_domains, constraint.node_taints_policy) == (2, "Honor")
    assert read_default_spread({}) == ()


@pytest.mark.parametrize(
    "given, words",
    [
        ({"podSpread": {}}, "podSpread: unknown field"),
        ({"podTopologySpread": {"constraints": []}}, "podTopologySpread.constraints: unknown field"),
        (document(entry(labelSelector={})), "defaultConstraints[0].labelSelector: is worked out"),
        (document(entry(matchLabelKeys=[])), "defaultConstraints[0].matchLabelKeys: is worked out"),
        (document({"maxSkew": 1, "topologyKey": "zone"}), "defaultConstraints[0].whenUnsatisfiable: is required"),
        (document(entry(), entry()), "defaultConstraints[1]: topology.kubernetes.io/zone with DoNotSchedule"),
        (document(entry(skew=2)), "defaultConstraints[0].skew: unknown field"),
        (document(entry(maxSkew=-1)), "defaultConstraints[0].maxSkew: -1 is less than 1"),
        (document(entry(maxSkew="one")), "defaultConstraints[0]: "),
        (document(entry(when="Never")), "defaultConstraints[0].whenUnsatisfiable: 'Never'"),
        (document("zone"), "defaultConstraints[0]: is not a mapping"),
    ],
)
def test_a_document_that_cannot_be_used_says_which_field(given: dict, words: str) -> None:
    with pytest.raises(ValueError, match=r"\S") as caught:
        read_default_spread(given)
    assert words in str(caught.value)
