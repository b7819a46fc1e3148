"""Which pods are planned for: spec v1alpha5 POD-2, spec v1 S-6, vector TV-86."""

import pytest

from karpenter.provisioning.pending import admit
from tests.builders import a_pod


def required(*expressions: dict, fields: tuple[dict, ...] = ()) -> dict:
    term = {"matchExpressions": list(expressions), "matchFields": list(fields)}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def test_an_ordinary_pod_is_planned_for() -> None:
    pod = a_pod(node_selector={"topology.kubernetes.io/zone": "us-west-2a"})
    assert admit([pod]) == ((pod,), ())


@pytest.mark.parametrize("key", ["karpenter.sh/provisioner-name", "karpenter.sh/nodepool"])
def test_tv86_a_pod_that_wants_no_node_of_ours_is_left_alone_silently(key: str) -> None:
    pod = a_pod(affinity=required({"key": key, "operator": "DoesNotExist"}))
    accepted, rejected = admit([pod])
    assert accepted == ()
    assert [(item.pod, item.message) for item in rejected] == [(pod, "")]


@pytest.mark.parametrize(
    "affinity,said",
    [
        (required(fields=({"key": "metadata.name", "operator": "In", "values": ["n"]},)), "matchFields"),
        (required({"key": "x", "operator": "Near", "values": ["a"]}), "'Near' is not one of"),
        (required({"key": "x", "operator": "Gt", "values": ["many"]}), "exactly one integer"),
    ],
)
def test_malformed_node_affinity_is_rejected_with_words(affinity: dict, said: str) -> None:
    _, rejected = admit([a_pod(affinity=affinity)])
    assert said in rejected[0].message


def test_a_node_selector_that_names_one_node_is_rejected() -> None:
    _, rejected = admit([a_pod(node_selector={"kubernetes.io/hostname": "n1"})])
    assert "'kubernetes.io/hostname'" in rejected[0].message
