"""Revisions of templates."""

import re

from hypothesis import given
from hypothesis import strategies as st

from karpenter.sim.controllers.amounts import resolve
from karpenter.sim.controllers.templates import pod_from, same_template, template_hash, with_labels
from tests.sim.controllers.workloads import template


def test_equal_templates_have_equal_names() -> None:
    one = template(image="app:1")
    other = dict(reversed(one.items()))
    assert template_hash(one) == template_hash(other)
    assert template_hash(one) != template_hash(template(image="app:2"))
    assert template_hash(one) != template_hash(one, 1)
    assert re.fullmatch("[bcdfghjklmnpqrstvwxz2456789]{1,10}", template_hash(one))


def test_the_label_that_controllers_add_makes_no_difference() -> None:
    one = template()
    assert same_template(one, with_labels(one, {"pod-template-hash": "abc"}))
    assert not same_template(one, with_labels(one, {"other": "abc"}))


def test_a_pod_takes_over_labels_annotations_and_spec() -> None:
    made = template()
    made["metadata"]["annotations"] = {"note": "x"}
    pod = pod_from(made, {"kind": "ReplicaSet"}, namespace="default", generate_name="web-")
    assert pod["metadata"] == {
        "labels": {"app": "web"},
        "annotations": {"note": "x"},
        "namespace": "default",
        "generateName": "web-",
        "ownerReferences": [{"kind": "ReplicaSet"}],
    }
    assert pod["spec"] == made["spec"]


@given(st.integers(0, 100), st.integers(0, 1000))
def test_a_share_is_rounded_as_told(percent: int, total: int) -> None:
    down, up = (resolve(f"{percent}%", total, round_up=way) for way in (False, True))
    assert down <= percent * total / 100 <= up
    assert up - down <= 1
