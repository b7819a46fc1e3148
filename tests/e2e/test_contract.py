"""What others rely on when they watch `karpenter run` from outside: names, labels, conditions, taints, metrics.

Source: spec v1 §6.4, the points that a process can keep; those of a Deployment are the chart's.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.karpenter import Karpenter, until
from tests.e2e.plane import ControlPlane

pytestmark = pytest.mark.timeout(300)

NAME = "contract"
EVERY_FIELD = Path(__file__).parents[1] / "data" / "v1"
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
        "limits": {"cpu": "10000", "memory": "8000Gi"},
    },
}


@pytest.fixture(scope="module")
def karpenter(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Karpenter]:
    """The process, with one NodePool and a pod that runs on its node."""
    namespace = "contract"
    families = ("metrics.perPod=on", "metrics.perObjectConditions=on")
    with Karpenter.running(plane, tmp_path_factory.mktemp("contract"), *families) as running:
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


def test_a_node_says_by_its_labels_whose_it_is_and_how_far_it_is(karpenter: Karpenter) -> None:
    """C-8, spec v1 §1.2."""
    (node,) = karpenter.nodes(NAME)
    wanted = {
        "karpenter.sh/nodepool": NAME,
        "karpenter.k8s.aws/ec2nodeclass": NAME,
        "karpenter.sh/capacity-type": "on-demand",
        "karpenter.sh/registered": "true",
        "karpenter.sh/initialized": "true",
    }
    found = node["metadata"]["labels"]
    assert {key: found.get(key) for key in wanted} == wanted
    assert {"node.kubernetes.io/instance-type", "topology.kubernetes.io/zone", "kubernetes.io/arch"} <= set(found)


def test_no_taint_of_ours_is_left_on_a_node_that_is_ready(karpenter: Karpenter) -> None:
    (node,) = karpenter.nodes(NAME)
    assert not [one for one in node["spec"]["taints"] if one["key"].startswith("karpenter.sh/")]


def test_events_tell_a_pods_user_where_it_will_run(karpenter: Karpenter) -> None:
    """Spec v1 §5.4."""
    events = karpenter.objects("events", "--namespace=contract", "--field-selector=involvedObject.name=pod")
    told = [(one["reason"], one["type"]) for one in events if one["source"].get("component") == "karpenter"]
    assert ("Nominated", "Normal") in told


def test_metrics_have_the_names_that_dashboards_ask_for(karpenter: Karpenter) -> None:
    """C-4, spec v1 §5."""
    told = karpenter.metrics()
    names = (
        "karpenter_nodes_allocatable",
        "karpenter_nodes_total_pod_requests",
        "karpenter_nodepools_usage",
        "karpenter_nodepools_limit",
        "karpenter_nodepools_allowed_disruptions",
        "karpenter_pods_state",
        "karpenter_nodeclaims_created_total",
        "karpenter_scheduler_scheduling_duration_seconds_count",
        "karpenter_cluster_state_synced",
        "operator_nodeclaim_status_condition_count",
    )
    assert [name for name in names if f"\n{name}" not in told] == []


def test_explain_tells_what_a_field_is_for(karpenter: Karpenter) -> None:
    told = karpenter.plane.kubectl("explain", "nodepool.spec.disruption")
    assert "FIELD: disruption <Object>" in told
    for field in ("budgets", "consolidateAfter", "consolidationPolicy"):
        assert field in told
    assert "<no description>" not in told
    assert "<empty>" not in told


def test_manifests_with_every_field_of_the_api_run(karpenter: Karpenter, namespace: str) -> None:
    """Spec v1 §1.4, §1.5, §1.8: also the fields that nobody needs are taken as they are and acted upon."""
    given = [*every_field("nodeclass"), *every_field("pools")]
    karpenter.plane.apply(*given)
    for one in given:
        kept = json.loads(karpenter.plane.kubectl("get", one["kind"], one["metadata"]["name"], "--output=json"))
        assert missing(one["spec"], kept["spec"]) == []
    (shop,) = every_field("workload")
    shop["metadata"]["namespace"] = namespace
    karpenter.plane.apply(shop)
    until(lambda: len(karpenter.running_pods(namespace)) == 5, "5 pods running")
    karpenter.plane.kubectl("delete", "deployment", "shop", f"--namespace={namespace}")
    karpenter.plane.kubectl("delete", "nodepool", "fixed", "every-field", "--wait=false")
    until(lambda: not karpenter.nodes("every-field") and not karpenter.nodes("fixed"), "the pools' nodes gone")
    karpenter.plane.kubectl("delete", "ec2nodeclass", "every-field", "--timeout=60s")


def every_field(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((EVERY_FIELD / f"{name}.yaml").read_text(encoding="utf-8")))


def missing(given: Any, kept: Any, path: str = "spec") -> list[str]:
    """Return where something of what was given is not kept as it was."""
    if isinstance(given, dict) and isinstance(kept, dict):
        return [each for key in given for each in missing(given[key], kept.get(key), f"{path}.{key}")]
    if isinstance(given, list) and isinstance(kept, list) and len(given) == len(kept):
        pairs = enumerate(zip(given, kept, strict=True))
        return [each for at, (ours, theirs) in pairs for each in missing(ours, theirs, f"{path}[{at}]")]
    return [] if given == kept else [f"{path}: {given!r} became {kept!r}"]


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
    patch = json.dumps({"status": {"providerID": "aws:///us-west-2a/i-00000000000000000"}})
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
    karpenter.plane.kubectl("patch", "nodeclaim", name, "--type=merge", f"--patch={json.dumps(patch)}")
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
    karpenter.plane.kubectl("patch", "nodeclaim", name, "--type=json", f"--patch={json.dumps(patch)}")
