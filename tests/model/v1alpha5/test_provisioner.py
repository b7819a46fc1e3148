"""Rules of a Provisioner's fields, and what they mean in the hub (spec v1alpha5 §1.2, §1.4, §1.5, §7.1)."""

import pytest

from karpenter.model.errors import FieldError
from karpenter.model.nodepool import Budget, Disruption, Origin
from karpenter.model.units import PoolKey
from karpenter.model.v1alpha5 import decode_provisioner, encode_provisioner_status
from karpenter.model.v1alpha5.budgets import DEFAULT
from tests.builders import a_provisioner
from tests.refusals import errors_of, paths_of


def decode(**spec):
    return decode_provisioner(a_provisioner(**spec))[0]


def refused(**spec) -> list[str]:
    return paths_of(decode_provisioner, a_provisioner(**spec))


def test_the_pool_knows_what_it_was_decoded_from() -> None:
    raw = a_provisioner("spot")
    raw["metadata"] |= {"uid": "u-1", "resourceVersion": "7", "creationTimestamp": "2023-11-14T22:13:20Z"}
    pool, warnings = decode_provisioner(raw)
    assert pool.origin == Origin("karpenter.sh/v1alpha5", "Provisioner", "spot", "u-1")
    assert (pool.key, pool.metadata.created_at) == (PoolKey("Provisioner", "spot"), 1_700_000_000)
    assert warnings == ()


@pytest.mark.parametrize("weight, is_accepted", [(0, False), (1, True), (100, True), (101, False)])
def test_weight_is_between_1_and_100(weight: int, is_accepted: bool) -> None:
    """TV-8."""
    if is_accepted:
        assert decode(weight=weight).weight == weight
    else:
        assert refused(weight=weight) == ["spec.weight"]


def test_a_time_to_live_is_not_negative() -> None:
    """TV-9."""
    assert errors_of(decode_provisioner, a_provisioner(ttlSecondsUntilExpired=-1)) == (
        FieldError("spec.ttlSecondsUntilExpired", "-1 must not be negative"),
    )
    assert refused(ttlSecondsAfterEmpty=-1) == ["spec.ttlSecondsAfterEmpty"]


def test_consolidation_switched_off_goes_with_a_time_to_live() -> None:
    """TV-10."""
    pool, warnings = decode_provisioner(
        a_provisioner(consolidation={"enabled": False}, ttlSecondsAfterEmpty=30), mode="strict"
    )
    assert pool.disruption == Disruption(
        policy="WhenEmpty", consolidate_after_s=30.0, empty_after_s=30.0, budgets=DEFAULT, expires_by_pool=True
    )
    assert warnings == ()


def test_strict_refuses_consolidation_with_a_time_to_live_of_zero() -> None:
    """TV-11: set counts, even to 0."""
    raw = a_provisioner(consolidation={"enabled": True}, ttlSecondsAfterEmpty=0)
    assert paths_of(decode_provisioner, raw, mode="strict") == ["spec.ttlSecondsAfterEmpty"]
    assert decode_provisioner(raw)[1][0].code == "W-EXCLUSIVE"


def test_without_consolidation_and_time_to_live_nodes_stay() -> None:
    """Architecture §2."""
    pool = decode()
    assert pool.disruption == Disruption(
        policy="Off", consolidate_after_s=None, empty_after_s=None, budgets=DEFAULT, expires_by_pool=True
    )
    assert pool.template.expire_after_s is None


def test_consolidation_alone_takes_empty_nodes_at_once() -> None:
    """DEP-63."""
    assert decode(consolidation={"enabled": True}).disruption == Disruption(
        policy="WhenEmptyOrUnderutilized",
        consolidate_after_s=0.0,
        empty_after_s=0.0,
        budgets=DEFAULT,
        expires_by_pool=True,
    )


def test_exactly_one_of_provider_and_its_reference_is_given() -> None:
    """TV-12, API-4."""
    inline = {"subnetSelector": {"a": "b"}, "securityGroupSelector": {"a": "b"}}
    both, none = (
        errors_of(decode_provisioner, a_provisioner(provider=inline)),
        errors_of(decode_provisioner, a_provisioner(providerRef=None)),
    )
    expected = "expected exactly one of spec.provider and spec.providerRef, got "
    assert both == (FieldError("spec.providerRef", expected + "both"),)
    assert none == (FieldError("spec.providerRef", expected + "none"),)


def test_a_reference_needs_a_name_and_its_kind_does_not_matter() -> None:
    """API-5."""
    assert refused(providerRef={"kind": "AWSNodeTemplate"}) == ["spec.providerRef.name"]
    assert refused(providerRef={"name": ""}) == ["spec.providerRef.name"]
    reference = decode(providerRef={"name": "a", "kind": "Other", "apiVersion": "v9"}).template.node_class_ref
    assert (reference.kind, reference.name) == ("AWSNodeTemplate", "a")


def test_an_inline_provider_is_checked_and_kept() -> None:
    """API-30."""
    inline = {
        "apiVersion": "extensions.karpenter.sh/v1alpha1",
        "kind": "AWS",
        "subnetSelector": {"Name": "*"},
        "securityGroupSelector": {"aws-ids": "sg-1,sg-2"},
    }
    template = decode(providerRef=None, provider=inline).template
    assert (template.node_class_ref, template.inline_provider) == (None, inline)


@pytest.mark.parametrize("field", ["userData", "amiSelector", "detailedMonitoring"])
def test_an_inline_provider_lacks_newer_fields(field: str) -> None:
    """API-30."""
    inline = {"subnetSelector": {"a": "b"}, "securityGroupSelector": {"a": "b"}, field: "x"}
    assert errors_of(decode_provisioner, a_provisioner(providerRef=None, provider=inline)) == (
        FieldError(f"spec.provider.{field}", "is not a known field"),
    )


def requirement(key: str = "example.com/x", operator: str = "In", *values: str) -> dict:
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    "key, is_accepted",
    [
        ("kubernetes.io/hostname", False),
        ("foo.kubernetes.io/x", False),
        ("node.kubernetes.io/x", True),
        ("kops.k8s.io/x", True),
        ("karpenter.sh/x", False),
        ("example.com/x", True),
        ("karpenter.sh/provisioner-name", False),
        ("not a key", False),
    ],
)
def test_requirements_may_not_name_restricted_keys(key: str, is_accepted: bool) -> None:
    """TV-13, API-13, API-15."""
    given = [requirement(key, "In", "a")]
    if is_accepted:
        assert decode(requirements=given).template.requirements[key].values == {"a"}
    else:
        assert refused(requirements=given) == ["spec.requirements[0].key"]


def test_an_old_key_in_a_requirement_equals_the_modern_one() -> None:
    """TV-14."""
    old = decode(requirements=[requirement("failure-domain.beta.kubernetes.io/zone", "In", "a")])
    assert (
        old.template.requirements
        == decode(requirements=[requirement("topology.kubernetes.io/zone", "In", "a")]).template.requirements
    )


def test_an_old_key_among_labels_is_refused() -> None:
    """TV-15."""
    assert refused(labels={"beta.kubernetes.io/arch": "amd64"}) == ["spec.labels[beta.kubernetes.io/arch]"]


@pytest.mark.parametrize(
    "operator, values, path",
    [
        ("In", [], "spec.requirements[0].values"),
        ("Gt", ["1", "2"], "spec.requirements[0].values"),
        ("Lt", ["-1"], "spec.requirements[0].values[0]"),  # no label value either, API-16
        ("Gt", ["a"], "spec.requirements[0].values"),
        ("Gt", [], "spec.requirements[0].values"),
        ("Equals", ["a"], "spec.requirements[0].operator"),
        ("Gte", ["1"], "spec.requirements[0].operator"),
        ("In", ["a/b"], "spec.requirements[0].values[0]"),
        ("Exists", ["x" * 64], "spec.requirements[0].values[0]"),
    ],
)
def test_operators_take_their_number_and_kind_of_values(operator: str, values: list[str], path: str) -> None:
    """TV-16, API-14, API-16, API-17."""
    assert refused(requirements=[requirement("example.com/x", operator, *values)]) == [path]


@pytest.mark.parametrize("operator, values", [("NotIn", []), ("Exists", ["x"]), ("DoesNotExist", ["x"])])
def test_operators_that_need_no_values_do_not_mind_some(operator: str, values: list[str]) -> None:
    """TV-16, API-17."""
    decode(requirements=[requirement("example.com/x", operator, *values)])


def test_an_unknown_operator_is_answered_with_the_legal_ones() -> None:
    """API-14."""
    assert errors_of(decode_provisioner, a_provisioner(requirements=[requirement("a", "Equals", "b")])) == (
        FieldError(
            "spec.requirements[0].operator",
            "'Equals' is not supported",
            "one of In, NotIn, Exists, DoesNotExist, Gt, Lt",
        ),
    )


def test_repeated_keys_are_intersected_even_to_nothing() -> None:
    """API-18."""
    pool = decode(requirements=[requirement("x", "In", "a"), requirement("x", "In", "b")])
    assert pool.template.requirements["x"].operator == "DoesNotExist"


def taint(key: str = "a", effect: str | None = "NoSchedule", **more: str) -> dict:
    return {"key": key, **({} if effect is None else {"effect": effect}), **more}


def test_a_key_and_effect_occur_once_in_both_lists_of_taints() -> None:
    """TV-17."""
    assert refused(taints=[taint("a")], startupTaints=[taint("a")]) == ["spec.startupTaints[0]"]
    decode(taints=[taint("a"), taint("a", "NoExecute")])


@pytest.mark.parametrize(
    "given, path",
    [
        (taint(effect="NoWay"), "spec.taints[0].effect"),
        (taint(key=""), "spec.taints[0].key"),
        (taint(effect=None), "spec.taints[0].effect"),
        (taint(key="a b"), "spec.taints[0].key"),
        (taint(value="a b"), "spec.taints[0].value"),
        (taint(value="-x"), "spec.taints[0].value"),
    ],
)
def test_taints_are_spelled_as_kubernetes_wants(given: dict, path: str) -> None:
    """TV-18, §1.4."""
    assert refused(taints=[given]) == [path]


def test_a_taint_may_have_an_empty_effect_and_a_value_with_a_slash() -> None:
    """§1.4: empty is legal, and the value is a qualified name."""
    assert [str(each) for each in decode(taints=[taint(effect="", value="example.com/v")]).template.taints] == [
        "a=example.com/v:"
    ]


@pytest.mark.parametrize(
    "key, value, is_accepted",
    [
        ("topology.kubernetes.io/zone", "a", True),
        ("example.com/x", "", True),
        ("karpenter.sh/provisioner-name", "default", False),
        ("example.com/x", "x" * 64, False),
        ("example.com/x", "-", False),
        ("a b", "c", False),
    ],
)
def test_labels_are_spelled_as_kubernetes_wants_and_not_restricted(key: str, value: str, is_accepted: bool) -> None:
    """API-11."""
    if is_accepted:
        assert decode(labels={key: value}).template.labels == {key: value}
    else:
        assert refused(labels={key: value}) == [f"spec.labels[{key}]"]


def test_limits_take_any_resource_as_text_or_integer() -> None:
    """§1.2."""
    limits = {"resources": {"cpu": 1000, "memory": "1000Gi", "nvidia.com/gpu": "4"}}
    assert decode(limits=limits).limits == {"cpu": 1_000_000, "memory": 1000 * 2**30, "nvidia.com/gpu": 4}


@pytest.mark.parametrize("amount", [1.5, True, "much", None, []])
def test_a_limit_is_a_quantity(amount: object) -> None:
    assert refused(limits={"resources": {"cpu": amount}}) == ["spec.limits.resources.cpu"]


@pytest.mark.parametrize(
    "spec, error",
    [
        ({"weight": "10"},
         FieldError("spec.weight", "expected an integer, got the string '10'", "write 10 without quotes")),
        ({"labels": {"team": 7}}, FieldError("spec.labels.team", "expected a string, got the number 7", 'write "7"')),
        ({"labels": {"on": True}}, FieldError("spec.labels.on", "expected a string, got true", 'write "true"')),
        ({"labels": []}, FieldError("spec.labels", "expected an object, got a list")),
        ({"taints": {}}, FieldError("spec.taints", "expected a list, got an object")),
        ({"taints": ["a"]}, FieldError("spec.taints[0]", "expected an object, got the string 'a'")),
        ({"consolidation": {"enabled": "yes"}},
         FieldError("spec.consolidation.enabled", "expected true or false, got the string 'yes'")),
        ({"ttlSecondsAfterEmpty": 1.5},
         FieldError("spec.ttlSecondsAfterEmpty", "expected an integer, got the number 1.5")),
        ({"weight": True}, FieldError("spec.weight", "expected an integer, got true")),
    ],
)  # fmt: skip
def test_a_value_of_the_wrong_type_is_named_with_what_to_write(spec: dict, error: FieldError) -> None:
    """API-44."""
    assert errors_of(decode_provisioner, a_provisioner(**spec)) == (error,)


@pytest.mark.parametrize(
    "spec, error",
    [
        ({"weigth": 1}, FieldError("spec.weigth", "is not a known field", "did you mean 'weight'?")),
        ({"limits": {"cpu": 1}}, FieldError("spec.limits.cpu", "is not a known field")),
        ({"taints": [{**taint(), "efect": "x"}]},
         FieldError("spec.taints[0].efect", "is not a known field", "did you mean 'effect'?")),
    ],
)  # fmt: skip
def test_an_unknown_field_is_refused_with_the_one_that_was_probably_meant(spec: dict, error: FieldError) -> None:
    """API-9."""
    assert errors_of(decode_provisioner, a_provisioner(**spec)) == (error,)


def test_null_means_absent() -> None:
    raw = a_provisioner()
    raw["spec"] |= {"weight": None, "labels": None, "taints": None, "limits": {"resources": None}, "provider": None}
    assert decode_provisioner(raw) == decode_provisioner(a_provisioner())


@pytest.mark.parametrize("name", ["Default", "a.b", "x" * 64, "", None])
def test_the_name_is_a_dns_label_because_it_becomes_a_label_value(name: str | None) -> None:
    """API-8."""
    raw = a_provisioner()
    raw["metadata"] = {"name": name}
    assert paths_of(decode_provisioner, raw) == ["metadata.name"]


def test_all_errors_of_a_manifest_come_at_once() -> None:
    raw = a_provisioner("Upper", weight=0, providerRef=None, labels={"kubernetes.io/hostname": "x"}, taints=[{}], x=1)
    assert paths_of(decode_provisioner, raw) == [
        "metadata.name",
        "spec.taints[0].key",
        "spec.taints[0].effect",
        "spec.providerRef",
        "spec.labels[kubernetes.io/hostname]",
        "spec.weight",
        "spec.x",
    ]


@pytest.mark.parametrize(
    "raw",
    [None, [], "x", {}, {"apiVersion": "v1", "kind": "Pod"}, {"apiVersion": "karpenter.sh/v1", "kind": "NodePool"}],
)
def test_what_is_no_provisioner_is_refused(raw: object) -> None:
    assert len(errors_of(decode_provisioner, raw)) == 1


def test_an_error_names_the_object_every_field_and_the_fix() -> None:
    raw = a_provisioner("web", weight=0, limits={"resource": {}})
    with pytest.raises(ValueError, match=r"^Provisioner web: ") as caught:
        decode_provisioner(raw)
    assert str(caught.value) == (
        "Provisioner web: spec.weight: 0 is not between 1 and 100; "
        "spec.limits.resource: is not a known field (did you mean 'resources'?)"
    )


@pytest.mark.parametrize("text, seconds", [("3m", 180), ("90s", 90), ("1500ms", 2), ("0s", 0)])
def test_compat_takes_a_duration_for_whole_seconds(text: str, seconds: int) -> None:
    """§1.2, W-DURATION."""
    pool, warnings = decode_provisioner(a_provisioner(kubeletConfiguration={"evictionMaxPodGracePeriod": text}))
    assert pool.kubelet.eviction_max_pod_grace_period_s == seconds
    assert [warning.code for warning in warnings] == ["W-DURATION"]


@pytest.mark.parametrize("value", ["soon", "-3m", "999999999h", 1.5, 2**31])
def test_a_grace_period_is_a_duration_or_whole_seconds(value: object) -> None:
    path = "spec.kubeletConfiguration.evictionMaxPodGracePeriod"
    assert refused(kubeletConfiguration={"evictionMaxPodGracePeriod": value}) == [path]


def test_budgets_are_our_own_unless_an_annotation_gives_others() -> None:
    """Architecture §2."""
    raw = a_provisioner()
    raw["metadata"]["annotations"] = {
        "karpenter.sh/disruption-budgets": '[{"nodes": "2", "reasons": ["Expired"]}, '
        '{"nodes": "0", "schedule": "@daily", "duration": "8h"}]'
    }
    assert decode().disruption.budgets == (
        Budget(nodes="1", reasons=frozenset({"Drifted", "Expired"})),
        Budget(nodes="10%", reasons=frozenset({"Underutilized"})),
    )
    assert decode_provisioner(raw)[0].disruption.budgets == (
        Budget(nodes="2", reasons=frozenset({"Expired"})),
        Budget(nodes="0", schedule="@daily", duration_s=28800),
    )


@pytest.mark.parametrize(
    "text, path",
    [
        ("not json", "metadata.annotations[karpenter.sh/disruption-budgets]"),
        ("{}", "metadata.annotations[karpenter.sh/disruption-budgets]"),
        ("[" * 5000, "metadata.annotations[karpenter.sh/disruption-budgets]"),
        ('[{"nodes": 5}]', "metadata.annotations[karpenter.sh/disruption-budgets][0].nodes"),
        ('[{"node": "5"}]', "metadata.annotations[karpenter.sh/disruption-budgets][0].node"),
    ],
)
def test_budgets_that_cannot_be_read_are_an_error_of_the_annotation(text: str, path: str) -> None:
    raw = a_provisioner()
    raw["metadata"]["annotations"] = {"karpenter.sh/disruption-budgets": text}
    assert paths_of(decode_provisioner, raw) == [path]


def test_a_status_is_read_as_far_as_it_can_be() -> None:
    raw = a_provisioner()
    raw["status"] = {
        "resources": {"cpu": "8", "memory": "1Gi"},
        "conditions": [{"type": "Active", "status": "True", "severity": "Info"}, {"nonsense": 1}, 7],
        "lastScaleTime": "2023-11-14T22:13:20Z",
    }
    pool = decode_provisioner(raw)[0]
    assert pool.resources == {"cpu": 8000, "memory": 2**30}
    assert [condition.type for condition in pool.conditions] == ["Active"]


def test_the_status_shows_capacity_without_zeros_and_drops_what_is_gone() -> None:
    """§1.6."""
    used = {"cpu": 4000, "memory": 2**34, "pods": 0, "nodes": 3}
    assert encode_provisioner_status(used, previous={"cpu": 1, "nvidia.com/gpu": 1}) == {
        "status": {"resources": {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": None}}
    }
