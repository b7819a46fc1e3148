"""Our schemas on a real API server: it takes them, they keep what our kinds say, and refuse what our codecs refuse.

What each refuses is in the corpus (`test_corpus.py`); here is what they keep.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest

from karpenter.model import crds
from karpenter.model.aws.nodetemplate import decode_aws_node_template
from karpenter.model.errors import ManifestError
from karpenter.model.v1.nodeclaim import decode_nodeclaim, encode_nodeclaim
from karpenter.model.v1.nodepool import decode_nodepool
from karpenter.model.v1alpha5.provisioner import decode_provisioner
from tests.builders import a_claim, a_node_pool, a_node_template, a_pool, a_provisioner, an_ec2_node_class
from tests.e2e.plane import ControlPlane

ZONES = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["us-west-2a", "us-west-2b"]}
TAINT = {"key": "example.com/special", "value": "yes", "effect": "NoSchedule"}

ACCEPTED = {
    "provisioner": a_provisioner(
        requirements=[ZONES, {"key": "karpenter.k8s.aws/instance-cpu", "operator": "Gt", "values": ["3"]}],
        taints=[TAINT],
        startupTaints=[TAINT],
        labels={"team": "a"},
        annotations={"example.com/owner": "a"},
        limits={"resources": {"cpu": 1000, "memory": "1000Gi"}},
        weight=10,
        ttlSecondsAfterEmpty=30,
        ttlSecondsUntilExpired=2592000,
        kubeletConfiguration={
            "maxPods": 20,
            "systemReserved": {"cpu": "100m"},
            "evictionHard": {"memory.available": "5%"},
        },
    ),
    "awsnodetemplate": a_node_template(
        amiFamily="AL2",
        tags={"team": "a"},
        metadataOptions={"httpTokens": "required", "httpPutResponseHopLimit": 2},
        blockDeviceMappings=[{"deviceName": "/dev/xvda", "ebs": {"volumeSize": "100Gi", "volumeType": "gp3"}}],
    ),
    "nodepool": a_node_pool(
        template={
            "metadata": {"labels": {"team": "a"}},
            "requirements": [{**ZONES, "minValues": 2}],
            "taints": [TAINT],
            "expireAfter": "720h",
            "terminationGracePeriod": "1h30m",
        },
        limits={"cpu": "1000"},
        weight=10,
        disruption={
            "consolidationPolicy": "WhenEmptyOrUnderutilized",
            "consolidateAfter": "30s",
            "budgets": [{"nodes": "10%"}, {"nodes": "0", "schedule": "0 9 * * *", "duration": "8h"}],
        },
    ),
    "nodeclaim": encode_nodeclaim(
        a_claim(
            "default-abcde",
            pool=a_pool(kind="NodePool"),
            requirements={ZONES["key"]: ZONES["values"]},
            requests={"cpu": "1"},
        )
    ),
    "ec2nodeclass": an_ec2_node_class(tags={"team": "a"}),
}

DECODERS: dict[str, Callable[[Any], object]] = {
    "Provisioner": decode_provisioner,
    "AWSNodeTemplate": decode_aws_node_template,
    "NodePool": decode_nodepool,
    "NodeClaim": decode_nodeclaim,
}

REFUSED = {
    "unknown operator": a_provisioner(requirements=[{**ZONES, "operator": "Like"}]),
    "taint without effect": a_provisioner(taints=[{"key": "example.com/special"}]),
    "negative ttl": a_provisioner(ttlSecondsAfterEmpty=-1),
    "weight above 100": a_provisioner(weight=101),
    "unknown policy": a_node_pool(disruption={"consolidationPolicy": "Always", "consolidateAfter": "30s"}),
    "no duration": a_node_pool(disruption={"consolidateAfter": "soon"}),
}


@pytest.fixture(scope="module")
def served(plane: ControlPlane) -> ControlPlane:
    """The control plane, with our kinds."""
    plane.apply(*crds.load())
    plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
    return plane


def test_the_schemas_are_structural_and_their_rules_compile(served: ControlPlane) -> None:
    definitions = json.loads(served.kubectl("get", "crds", "--output=json"))["items"]
    conditions = {
        each["type"] for crd in definitions for each in crd["status"]["conditions"] if each["status"] == "True"
    }
    assert conditions == {"Established", "NamesAccepted"}


def test_the_schemas_are_stored_whole(served: ControlPlane) -> None:
    for definition in crds.load():
        stored = json.loads(served.kubectl("get", "crd", definition["metadata"]["name"], "--output=json"))
        assert contained(definition["spec"], stored["spec"]) == definition["spec"]


@pytest.mark.parametrize("manifest", ACCEPTED.values(), ids=ACCEPTED)
def test_a_manifest_with_all_its_usual_fields_is_stored_whole(served: ControlPlane, manifest: dict[str, Any]) -> None:
    create = ("create", "--dry-run=server", "--validate=strict", "--filename=-", "--output=json")
    stored = json.loads(served.kubectl(*create, stdin=json.dumps(manifest)))
    assert contained(manifest["spec"], stored["spec"]) == manifest["spec"]


def contained(wanted: Any, stored: Any) -> Any:
    """Return of `stored` what `wanted` has as well: the rest are defaults."""
    if isinstance(wanted, dict) and isinstance(stored, dict):
        return {key: contained(wanted[key], stored[key]) for key in wanted if key in stored}
    if isinstance(wanted, list) and isinstance(stored, list):
        return [contained(*pair) for pair in zip(wanted, stored, strict=True)]
    return stored


@pytest.mark.parametrize("manifest", REFUSED.values(), ids=REFUSED)
def test_schema_and_codec_refuse_the_same(served: ControlPlane, manifest: dict[str, Any]) -> None:
    answer = served.try_kubectl("create", "--dry-run=server", "--filename=-", stdin=json.dumps(manifest))
    with pytest.raises(ManifestError):
        DECODERS[manifest["kind"]](manifest)
    assert (answer.returncode, "is invalid" in answer.stderr) == (1, True), answer.stdout + answer.stderr
