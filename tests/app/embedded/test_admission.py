"""The embedded API server judges our kinds as a webhook of ours would, and stores them as they were written."""

from typing import Any

import pytest

from karpenter.app.embedded.admission import admission
from karpenter.model.v1alpha5 import Mode
from karpenter.runtime.kube import Invalid, RawObject
from karpenter.runtime.kubememory.resources import ApiResource
from tests.builders import a_node_pool, a_node_template, a_provisioner, an_ec2_node_class

BOTH = {"consolidation": {"enabled": True}, "ttlSecondsAfterEmpty": 30}


def kind_of(raw: RawObject) -> ApiResource:
    group, _, version = raw["apiVersion"].rpartition("/")
    return ApiResource(group, version, f"{raw['kind'].lower()}s", raw["kind"])


def create(raw: RawObject, mode: Mode = "compat") -> tuple[RawObject, list[str]]:
    stored, warnings = admission(mode)("CREATE", kind_of(raw), raw, None)
    return stored, list(warnings)


def refusal(raw: RawObject, mode: Mode = "compat") -> list[tuple[str, str]]:
    with pytest.raises(Invalid) as raised:
        create(raw, mode)
    return [(cause["field"], cause["message"]) for cause in raised.value.details["causes"]]


@pytest.mark.parametrize("raw", [a_provisioner(), a_node_pool(), a_node_template(), an_ec2_node_class()])
def test_what_breaks_no_rule_is_stored_as_it_was_written(raw: dict[str, Any]) -> None:
    # API-3, TV-3: with defaults in the stored object a second apply would find something to change.
    assert create(raw) == (raw, [])


def test_every_broken_rule_is_a_cause_of_the_refusal() -> None:
    assert refusal(a_provisioner(weight=101, ttlSecondsUntilExpired=-1)) == [
        ("spec.ttlSecondsUntilExpired", "-1 must not be negative"),
        ("spec.weight", "101 is not between 1 and 100"),
    ]


def test_a_node_template_is_judged_too() -> None:
    assert [field for field, _ in refusal(a_node_template(subnetSelector=None))] == ["spec.subnetSelector"]


def test_a_slip_that_compat_accepts_is_a_warning_and_strict_refuses_it() -> None:
    # TV-2 and TV-1
    _, warnings = create(a_provisioner(**BOTH))
    assert [warning.partition(" ")[0] for warning in warnings] == ["W-EXCLUSIVE"]
    assert [field for field, _ in refusal(a_provisioner(**BOTH), "strict")] == ["spec.ttlSecondsAfterEmpty"]


def test_writes_that_leave_spec_and_metadata_alone_pass_whatever_the_rules_say_by_now() -> None:
    old = a_provisioner(weight=101)
    new = {**old, "status": {"resources": {"cpu": "4"}}}
    assert admission()("UPDATE", kind_of(old), new, old) == (new, ())


def test_an_edit_is_judged_like_a_new_object() -> None:
    old = a_provisioner()
    with pytest.raises(Invalid):
        admission()("UPDATE", kind_of(old), a_provisioner(weight=101), old)


def test_other_kinds_pass_unseen() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {}}
    assert create(pod) == (pod, [])
