"""What others rely on when they watch `karpenter run` from outside: names, labels, conditions, taints, metrics.

Source: spec v1 §6.4, the points that a process can keep; those of a Deployment are the chart's.
"""

import time
from collections.abc import Iterator
from json import dumps as as_json
from typing import Any

import pytest

from tests.e2e.karpenter import Karpenter, until
from tests.e2e.plane import ControlPlane

pytestmark = pytest.mark.timeout(300)

NAME = "contract"
NODE_CLASS = {
    "apiVersion": "karpenter.k8s.aws/v1",
    "kind": "EC2NodeClass",
    "metadata": {"name": NAME},
    "spec": {
        "amiSelectorTerms": [{"alias": "al2023@latest"}],
        "subnetSelectorTerms": [{"tags": {"karpenter.sh/discovery": NAME}}],
        "securityGroupSelectorTerms": [{"tags": {"karpenter.sh/discovery": NAME}}],
        "role": "node",
    },
}
REFERENCE = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": NAME}
POOL = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodePool",
    "metadata": {"name": NAME},
    "spec": {
        "template": {
            "metadata": {"labels": {"testing/cluster": "unspecified"}, "annotations": {"example.com/note": "kept"}},
            "spec": {
                "nodeClassRef": REFERENCE,
                "requirements": [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]}],
                "taints": [{"key": "example.com/contract", "effect": "NoSchedule"}],
                "expireAfter": "Never",
            },
        },
        "disruption": {"consolidateAfter": "Never", "budgets": [{"nodes": "100%"}]},
    },
}


@pytest.fixture(scope="module")
def karpenter(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Karpenter]:
    """The process, with one NodePool and a pod that runs on its node."""
    namespace = "contract"
    with Karpenter.running(plane, tmp_path_factory.mktemp("contract")) as running:
        plane.kubectl("create", "namespace", namespace)
        plane.await_namespace(namespace)
        plane.apply(NODE_CLASS, POOL, a_pod("pod", namespace))
        until(lambda: running.running_pods(namespace), "the pod running")
        until(lambda: conditions(claim_of(running)).get("Ready") == "True", "the claim Ready")
        yield running
        plane.kubectl("delete", "namespace", namespace, "--wait=false")
        running.give_back("nodepool", NAME)
        plane.kubectl("delete", "ec2nodeclass", NAME)


def a_pod(name: str, namespace: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "nodeSelector": {"testing/cluster": "unspecified"},
            "tolerations": [{"key": "example.com/contract", "operator": "Exists"}],
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": "example.com/app", "resources": {"requests": {"cpu": "1"}}}],
        },
    }


def claim_of(karpenter: Karpenter) -> dict[str, Any]:
    return next((one for one in karpenter.objects("nodeclaims") if one["metadata"]["name"].startswith(NAME)), {})


def conditions(thing: dict[str, Any]) -> dict[str, str]:
    return {one["type"]: one["status"] for one in thing.get("status", {}).get("conditions", ())}


def test_the_leader_holds_the_lease_that_others_look_at(karpenter: Karpenter) -> None:
    """C-3."""
    (lease,) = karpenter.objects(
        "leases", "--namespace=kube-system", "--field-selector=metadata.name=karpenter-leader-election"
    )
    assert "_" in lease["spec"]["holderIdentity"]


def test_what_a_pool_costs_is_among_the_metrics(karpenter: Karpenter) -> None:
    """C-4."""
    assert karpenter.metric("karpenter_nodepools_cost_total", nodepool=NAME) > 0


def test_metrics_are_served(karpenter: Karpenter) -> None:
    """C-4."""
    assert karpenter.metric("karpenter_nodeclaims_created_total", nodepool=NAME) >= 1


def test_a_node_is_owned_by_its_claim_and_waits_for_us_when_it_is_deleted(karpenter: Karpenter) -> None:
    """C-7."""
    (node,), claim = karpenter.nodes(NAME), claim_of(karpenter)
    assert "karpenter.sh/termination" in node["metadata"]["finalizers"]
    (owner,) = node["metadata"]["ownerReferences"]
    assert owner == {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "name": claim["metadata"]["name"],
        "uid": claim["metadata"]["uid"],
        "blockOwnerDeletion": True,
    }


def test_what_the_template_says_reaches_the_node(karpenter: Karpenter) -> None:
    """C-8."""
    (node,) = karpenter.nodes(NAME)
    assert node["metadata"]["labels"]["testing/cluster"] == "unspecified"
    assert node["metadata"]["annotations"]["example.com/note"] == "kept"
    assert [(taint["key"], taint["effect"]) for taint in node["spec"]["taints"]] == [
        ("example.com/contract", "NoSchedule")
    ]


def test_conditions_of_a_claim_are_those_of_the_api(karpenter: Karpenter) -> None:
    """C-10: with consolidateAfter Never it is not Consolidatable, and nothing has drifted."""
    found = conditions(claim_of(karpenter))
    assert {"Launched", "Registered", "Initialized", "Ready"} <= {
        kind for kind, value in found.items() if value == "True"
    }
    assert not {"Consolidatable", "Drifted"} & set(found)


def test_a_pool_says_that_it_is_ready(karpenter: Karpenter) -> None:
    """Spec v1 §1.4.2."""
    pool = next(one for one in karpenter.objects("nodepools") if one["metadata"]["name"] == NAME)
    found = conditions(pool)
    assert (found["Ready"], found["NodeClassReady"], found["ValidationSucceeded"]) == ("True", "True", "True")
    assert int(pool["status"]["nodes"]) == 1


def test_a_node_class_is_ready_by_itself(karpenter: Karpenter) -> None:
    """C-15."""
    (node_class,) = [one for one in karpenter.objects("ec2nodeclasses") if one["metadata"]["name"] == NAME]
    assert conditions(node_class).get("Ready") == "True"


def test_a_claim_of_a_node_class_that_does_not_exist_is_deleted(karpenter: Karpenter) -> None:
    """C-13."""
    name = "contract-missing"
    karpenter.plane.apply(
        {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodeClaim",
            "metadata": {"name": name},
            "spec": {"nodeClassRef": {**REFERENCE, "name": "missing"}, "requirements": []},
        }
    )
    until(lambda: name not in [one["metadata"]["name"] for one in karpenter.objects("nodeclaims")], "the claim gone")


def test_a_claim_whose_instance_nobody_knows_is_deleted(karpenter: Karpenter) -> None:
    """C-14: what a test writes into a claim's status is accepted, and judged by what the cloud has."""
    name = "contract-lost"
    spec = {"nodeClassRef": REFERENCE, "requirements": []}
    claim = {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": {"name": name}, "spec": spec}
    karpenter.plane.apply(claim)

    def found() -> dict[str, Any]:
        return next((one for one in karpenter.objects("nodeclaims") if one["metadata"]["name"] == name), {})

    until(lambda: conditions(found()).get("Launched") == "True", "the claim launched")
    patch = as_json({"status": {"providerID": "aws:///us-west-2a/i-00000000000000000"}})
    karpenter.plane.kubectl("patch", "nodeclaim", name, "--subresource=status", "--type=merge", f"--patch={patch}")
    until(lambda: not found(), "the claim gone")


@pytest.fixture
def denial(plane: ControlPlane) -> Iterator[None]:
    """A policy of the cluster that refuses nodes with a label."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nodes"]}
    expression = "!has(object.metadata.labels) || !('registration' in object.metadata.labels)"
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": expression}]}
    policy = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy"}
    binding = policy | {"kind": "ValidatingAdmissionPolicyBinding"}
    plane.apply(
        policy | {"metadata": {"name": NAME}, "spec": spec},
        binding | {"metadata": {"name": NAME}, "spec": {"policyName": NAME, "validationActions": ["Deny"]}},
    )
    yield
    kinds = (f"validatingadmissionpolicybinding/{NAME}", f"validatingadmissionpolicy/{NAME}")
    plane.kubectl("delete", *kinds, "--ignore-not-found")


def test_a_node_that_is_refused_by_a_policy_registers_once_it_is_not(
    karpenter: Karpenter, denial: None, namespace: str
) -> None:
    """C-16."""
    pool = {**POOL, "metadata": {"name": "contract-denied"}}
    template = POOL["spec"]["template"]
    pool["spec"] = {
        **POOL["spec"],
        "template": {**template, "metadata": {"labels": {"registration": "fail"}}},
    }
    pod = a_pod("denied", namespace)
    pod["spec"]["nodeSelector"] = {"registration": "fail"}
    karpenter.plane.apply(pool, pod)

    def found() -> dict[str, str]:
        claims = [
            one for one in karpenter.objects("nodeclaims") if one["metadata"]["name"].startswith("contract-denied")
        ]
        return conditions(claims[0]) if claims else {}

    until(lambda: found().get("Launched") == "True", "the claim launched")
    time.sleep(5.0)
    assert found().get("Registered") != "True"
    assert karpenter.metric("karpenter_nodeclaims_created_total", nodepool="contract-denied") == 1
    karpenter.plane.kubectl("delete", f"validatingadmissionpolicybinding/{NAME}")
    until(lambda: found().get("Registered") == "True", "the node registered")
    karpenter.plane.kubectl("delete", "pod", "denied", f"--namespace={namespace}", "--wait=false")
    karpenter.plane.kubectl("delete", "nodepool", "contract-denied", "--wait=false")
    until(lambda: not karpenter.nodes("contract-denied") and not found(), "the pool's node gone")


def test_deleting_a_claim_taints_its_node_at_once_and_says_when_the_instance_ends(karpenter: Karpenter) -> None:
    """C-9, C-11. A finalizer of ours keeps the claim until we have seen it."""
    claim = claim_of(karpenter)
    name, node = claim["metadata"]["name"], claim["status"]["nodeName"]
    held = [*claim["metadata"]["finalizers"], "testing/finalizer"]
    patch = {"metadata": {"finalizers": held}}
    karpenter.plane.kubectl("patch", "nodeclaim", name, "--type=merge", f"--patch={as_json(patch)}")
    karpenter.plane.kubectl("delete", "nodeclaim", name, "--wait=false")

    def is_tainted() -> bool:
        taints = [
            taint
            for one in karpenter.objects("nodes")
            if one["metadata"]["name"] == node
            for taint in one["spec"].get("taints", ())
        ]
        return any((taint["key"], taint["effect"]) == ("karpenter.sh/disrupted", "NoSchedule") for taint in taints)

    until(is_tainted, "the node tainted", within_s=10)
    until(lambda: conditions(claim_of(karpenter)).get("InstanceTerminating") == "True", "InstanceTerminating")
    patch = [{"op": "remove", "path": "/metadata/finalizers"}]
    until(lambda: claim_of(karpenter)["metadata"]["finalizers"] == ["testing/finalizer"], "our finalizer off")
    karpenter.plane.kubectl("patch", "nodeclaim", name, "--type=json", f"--patch={as_json(patch)}")
