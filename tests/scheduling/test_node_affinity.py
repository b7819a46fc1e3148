"""Labels that pods ask for: selectors, required and preferred node affinity, and what is given up if nothing serves."""

from collections.abc import Mapping
from typing import Any

from karpenter.model import labels
from karpenter.model.requirements import Requirement
from karpenter.scheduling import Options, Policy
from tests.builders import a_node_view, a_pod, a_pool, an_instance_type
from tests.scheduling.toys import machines, on_demand, pods, solved, why

TEAM = "example.com/team"
IGNORE = Options(Policy(preferences="Ignore"))


def term(key: str, operator: str, *values: str) -> Mapping[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": values}]}


def required(*terms: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


def preferred(*weighted: tuple[int, Mapping[str, Any]]) -> Mapping[str, Any]:
    entries = [{"weight": weight, "preference": entry} for weight, entry in weighted]
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": entries}}


def test_a_node_selector_decides_the_zone() -> None:
    (plan,) = solved([a_pod(node_selector={labels.ZONE: "b"})]).new_claims
    assert plan.zone == "b"
    assert plan.requirements[labels.ZONE] == Requirement.of(labels.ZONE, "In", ["b"])


def test_an_old_label_key_means_the_new_one() -> None:
    (plan,) = solved([a_pod(node_selector={"failure-domain.beta.kubernetes.io/zone": "b"})]).new_claims
    assert plan.zone == "b"


def test_any_term_of_the_required_affinity_will_do_not_only_the_first() -> None:
    """TV-70."""
    affinity = required(term(labels.ZONE, "In", "x"), term(labels.ZONE, "In", "us-west-2a"))
    types = [an_instance_type(zones=("us-west-2a", "us-west-2b"))]
    (plan,) = solved([a_pod(affinity=affinity)], types=types).new_claims
    assert plan.zone == "us-west-2a"


def test_of_several_terms_the_one_with_the_cheapest_machine_is_taken() -> None:
    affinity = required(term(labels.INSTANCE_CATEGORY, "In", "r"), term(labels.INSTANCE_CATEGORY, "In", "c"))
    assert machines(solved([a_pod(affinity=affinity)])) == ["c.1"]


def test_terms_that_tie_a_type_to_a_zone_never_leave_the_claim_open_to_another_pair() -> None:
    """The verifier tries every type in every zone of the claim."""
    in_a = {
        "matchExpressions": [
            *term(labels.ZONE, "In", "a")["matchExpressions"],
            *term(labels.INSTANCE_CATEGORY, "In", "c")["matchExpressions"],
        ]
    }
    in_b = {
        "matchExpressions": [
            *term(labels.ZONE, "In", "b")["matchExpressions"],
            *term(labels.INSTANCE_CATEGORY, "In", "m")["matchExpressions"],
        ]
    }
    assert len(solved(pods(3, affinity=required(in_a, in_b))).placements) == 3


def test_a_term_without_expressions_matches_no_node() -> None:
    assert why(solved([a_pod(affinity=required({}))])) == [
        ("NoNodeMatches", "its required node affinity has no term that could match a node")
    ]


def test_affinity_by_match_fields_is_a_fault_of_the_pod() -> None:
    """POD-2."""
    fields = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}
    assert why(solved([a_pod(affinity=required(fields))])) == [
        ("InvalidPod", "its node affinity uses matchFields, which only a pod of a DaemonSet may; use matchExpressions")
    ]


def test_a_malformed_expression_is_a_fault_of_the_pod() -> None:
    """POD-2."""
    assert why(solved([a_pod(affinity=required(term("cores", "Gt", "many")))])) == [
        ("InvalidPod", "its node affinity on 'cores' cannot be read: operator Gt needs an integer, got 'many'")
    ]


def test_numbers_bound_the_types() -> None:
    assert machines(solved([a_pod(affinity=required(term(labels.INSTANCE_CPU, "Gt", "7")))])) == ["c.8"]


def test_a_preference_is_kept_while_some_machine_can_serve_it() -> None:
    """Quirk 2: even if that machine is dearer."""
    wish = preferred((1, term(labels.INSTANCE_CATEGORY, "In", "g")))
    assert machines(solved([a_pod(affinity=wish)])) == ["g.8"]


def test_the_heaviest_preference_is_tried_first_and_given_up_alone() -> None:
    """TV-71, node affinity part."""
    wish = preferred((1, term(labels.INSTANCE_CATEGORY, "In", "r")), (10, term(labels.INSTANCE_CATEGORY, "In", "x")))
    assert machines(solved([a_pod(affinity=wish)])) == ["r.2"]


def test_preferences_that_nothing_serves_are_given_up() -> None:
    wish = preferred((1, term(labels.ZONE, "In", "x")))
    assert machines(solved([a_pod(affinity=wish)])) == ["c.1"]


def test_preferences_are_not_looked_at_when_the_policy_says_ignore() -> None:
    """S-27, V49."""
    wish = preferred((1, term(labels.INSTANCE_CATEGORY, "In", "g")))
    assert machines(solved([a_pod(affinity=wish)], options=IGNORE)) == ["c.1"]


def test_a_pod_that_would_rather_have_no_pool_still_gets_a_node() -> None:
    """Case PREFER (c)."""
    wish = preferred((1, term(labels.NODEPOOL, "DoesNotExist")))
    assert machines(solved([a_pod(affinity=wish)])) == ["c.1"]


def test_a_new_machine_that_keeps_a_preference_comes_before_a_node_that_does_not() -> None:
    wish = preferred((1, term(labels.INSTANCE_CATEGORY, "In", "r")))
    assert machines(solved([a_pod(affinity=wish)], nodes=[a_node_view()])) == ["r.2"]


def test_a_preference_that_no_machine_can_keep_does_not_drive_a_pod_from_a_node_with_room() -> None:
    wish = preferred((1, term(labels.INSTANCE_CATEGORY, "In", "x")))
    assert solved([a_pod(affinity=wish)], nodes=[a_node_view("there")]).placements == {("default", "pod"): "there"}


def test_a_pod_that_wants_no_pool_is_refused_in_plain_words() -> None:
    """TV-86."""
    unwanted = required(term(labels.PROVISIONER, "DoesNotExist"))
    assert why(solved([a_pod(affinity=unwanted)])) == [
        ("ExcludesPools", "asks for a node that no pool made (karpenter.sh/provisioner-name DoesNotExist)")
    ]


def test_a_custom_label_has_to_be_defined_by_the_pool() -> None:
    """V45, TV-38."""
    assert why(solved([a_pod(node_selector={"custom": "x"})]))[0][0] == "LabelUndefined"
    assert len(solved([a_pod(affinity=required(term("custom", "NotIn", "x")))]).new_claims) == 1


def test_a_label_of_the_pool_serves_the_pods_that_select_it() -> None:
    assert len(solved([a_pod(node_selector={TEAM: "red"})], pools=[on_demand(labels={TEAM: "red"})]).new_claims) == 1


def test_an_open_label_takes_the_value_that_the_pod_asks_for() -> None:
    """API-28."""
    pool = on_demand(requirements={TEAM: ["red", "blue"]})
    (plan,) = solved([a_pod(node_selector={TEAM: "red"})], pools=[pool]).new_claims
    assert plan.requirements[TEAM] == Requirement.of(TEAM, "In", ["red"])


def test_pods_that_want_different_values_of_an_open_label_do_not_share_a_machine() -> None:
    pool = a_pool(
        requirements=[Requirement.of(labels.CAPACITY_TYPE, "In", ["on-demand"]), Requirement.of(TEAM, "Exists")]
    )
    wanted = [a_pod("r", node_selector={TEAM: "red"}), a_pod("b", node_selector={TEAM: "blue"}), a_pod("any")]
    plans = solved(wanted, pools=[pool]).new_claims
    assert sorted(sorted(plan.requirements[TEAM].values) for plan in plans) == [["blue"], ["red"]]


def test_pods_for_different_operating_systems_do_not_share_a_machine_of_a_type_that_comes_with_both() -> None:
    both = an_instance_type(labels={}, os="linux")
    either = Requirement.of(labels.OS, "In", ["linux", "windows"])
    types = [
        type(both)(
            both.name,
            both.requirements.without(labels.OS).intersect([either]),
            both.offerings,
            both.capacity,
            both.allocatable,
        )
    ]
    wanted = [a_pod("l", node_selector={labels.OS: "linux"}), a_pod("w", node_selector={labels.OS: "windows"})]
    assert len(solved(wanted, types=types).new_claims) == 2


def test_label_keys_of_the_catalogue_need_no_pool_to_define_them() -> None:
    types = [an_instance_type("a", labels={"shop/rack": "1"}), an_instance_type("b", labels={"shop/rack": "2"})]
    asked = [a_pod(node_selector={"shop/rack": "2"})]
    assert machines(solved(asked, types=types, well_known=frozenset({"shop/rack"}))) == ["b"]
    assert machines(solved(asked, types=types)) == []


def test_a_preferred_taint_is_avoided_while_another_pool_can_serve() -> None:
    """SCH-17."""
    soft = on_demand("soft", taints=["x:PreferNoSchedule"], weight=10)
    (plan,) = solved([a_pod()], pools=[soft, on_demand("plain")]).new_claims
    assert plan.pool.name == "plain"


def test_a_preferred_taint_is_accepted_when_nothing_else_serves() -> None:
    """Relaxation step 6."""
    assert machines(solved([a_pod()], pools=[on_demand(taints=["x:PreferNoSchedule"])])) == ["c.1"]


def test_a_preferred_taint_on_a_node_is_accepted_when_nothing_else_serves() -> None:
    node = a_node_view("soft", taints=["x:PreferNoSchedule"])
    assert solved([a_pod()], nodes=[node], pools=[]).placements == {("default", "pod"): "soft"}
