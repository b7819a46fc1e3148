"""The schemas of our kinds: what an API server is told about them, and that they know the fields that codecs know."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from karpenter.model.aws.nodeclasses import decode_node_class
from karpenter.model.crds import load
from karpenter.model.errors import ManifestError
from karpenter.model.pools import decode_nodeclaim, decode_pool, encode_nodeclaim
from karpenter.runtime import kube
from tests.builders import a_claim, a_node_pool, a_node_template, a_pool, a_provisioner, an_ec2_node_class

Path = tuple[str, ...]

CRDS = {crd["spec"]["names"]["kind"]: crd for crd in load()}
MANIFESTS: dict[str, tuple[Callable[[object], object], dict[str, Any]]] = {
    "Provisioner": (decode_pool, a_provisioner()),
    "NodePool": (decode_pool, a_node_pool()),
    "NodeClaim": (decode_nodeclaim, encode_nodeclaim(a_claim(pool=a_pool()))),
    "AWSNodeTemplate": (decode_node_class, a_node_template()),
    "EC2NodeClass": (decode_node_class, an_ec2_node_class()),
}


def version_of(kind: str) -> dict[str, Any]:
    return CRDS[kind]["spec"]["versions"][0]


def spec_schema(kind: str) -> dict[str, Any]:
    return version_of(kind)["schema"]["openAPIV3Schema"]["properties"]["spec"]


def fields(schema: dict[str, Any], path: Path = ()) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield path and schema of every field with a name; `[]` stands for the items of a list."""
    for name, inner in schema.get("properties", {}).items():
        yield (*path, name), inner
        yield from fields(inner, (*path, name))
    if "items" in schema:
        yield from fields(schema["items"], (*path, "[]"))


def holding(path: Path, value: object) -> object:
    """Return JSON with a value at a path, and nothing else."""
    if not path:
        return value
    inner = holding(path[1:], value)
    return [inner] if path[0] == "[]" else {path[0]: inner}


def merged(base: Any, more: Any) -> Any:
    if isinstance(base, dict) and isinstance(more, dict):
        return {**base, **{key: merged(base.get(key), value) for key, value in more.items()}}
    return more


def spelled(path: Path) -> str:
    return "spec" + "".join("[0]" if step == "[]" else f".{step}" for step in path)


def faults(kind: str, path: Path, value: object) -> dict[str, str]:
    """Return what is wrong with an ordinary manifest once a value is put at a path of its spec, reasons by path."""
    decode, manifest = MANIFESTS[kind]
    try:
        decode({**manifest, "spec": merged(manifest["spec"], holding(path, value))})
    except ManifestError as error:
        return {fault.path: fault.reason for fault in error.errors}
    return {}


ALL_FIELDS = [(kind, path) for kind in MANIFESTS for path, _ in fields(spec_schema(kind))]


@pytest.mark.parametrize("kind, path", ALL_FIELDS, ids=lambda part: part if isinstance(part, str) else ".".join(part))
def test_codecs_know_every_field_of_the_schema_and_its_type(kind: str, path: Path) -> None:
    """Architecture §2, rule (d)."""
    schema = dict(fields(spec_schema(kind)))[path]
    wrong: object = 1.5 if schema.get("type") != "object" else "text"
    assert spelled(path) in faults(kind, path, wrong)
    assert "is not a known field" not in faults(kind, path, wrong)[spelled(path)]


def test_codecs_and_schema_refuse_a_field_that_neither_knows() -> None:
    for kind in ("Provisioner", "NodePool", "AWSNodeTemplate", "EC2NodeClass"):
        assert faults(kind, ("fromTheFuture",), 1) == {"spec.fromTheFuture": "is not a known field"}
        assert "fromTheFuture" not in spec_schema(kind)["properties"]


# The fields that spec v1alpha5 and spec v1 list, so that the schemas cannot forget one together with the codecs.
LISTED = {
    "Provisioner": "annotations labels taints startupTaints requirements kubeletConfiguration provider providerRef "
    "ttlSecondsAfterEmpty ttlSecondsUntilExpired limits weight consolidation",
    "NodePool": "template disruption limits weight replicas",
    "NodeClaim": "taints startupTaints requirements resources nodeClassRef terminationGracePeriod expireAfter",
    "AWSNodeTemplate": "amiFamily subnetSelector securityGroupSelector amiSelector instanceProfile userData "
    "blockDeviceMappings metadataOptions tags launchTemplate detailedMonitoring context",
    "EC2NodeClass": "subnetSelectorTerms securityGroupSelectorTerms capacityReservationSelectorTerms "
    "placementGroupSelector amiSelectorTerms amiFamily role instanceProfile associatePublicIPAddress ipPrefixCount "
    "userData tags kubelet blockDeviceMappings instanceStorePolicy networkInterfaces detailedMonitoring "
    "metadataOptions connectionTracking cpuOptions context",
}


@pytest.mark.parametrize("kind", LISTED)
def test_the_schema_has_the_fields_of_the_api(kind: str) -> None:
    """Spec v1alpha5 §1.2, §1.8; spec v1 §1.4, §1.5, §1.8."""
    assert set(spec_schema(kind)["properties"]) == set(LISTED[kind].split())


def test_kubelet_settings_of_a_provisioner_are_those_of_the_api() -> None:
    """Spec v1alpha5 §1.3."""
    listed = (
        "clusterDNS containerRuntime maxPods podsPerCore systemReserved kubeReserved evictionHard evictionSoft "
        "evictionSoftGracePeriod evictionMaxPodGracePeriod imageGCHighThresholdPercent imageGCLowThresholdPercent "
        "cpuCFSQuota"
    )
    assert set(spec_schema("Provisioner")["properties"]["kubeletConfiguration"]["properties"]) == set(listed.split())


def test_the_schema_lets_the_example_pass_where_compat_does() -> None:
    """§1.2: `3m` is a string, the documented form an integer."""
    kubelet = spec_schema("Provisioner")["properties"]["kubeletConfiguration"]["properties"]
    assert kubelet["evictionMaxPodGracePeriod"]["x-kubernetes-int-or-string"] is True


@pytest.mark.parametrize(
    "resource",
    [kube.PROVISIONERS, kube.NODE_POOLS, kube.NODE_CLAIMS, kube.AWS_NODE_TEMPLATES, kube.EC2_NODE_CLASSES],
    ids=lambda resource: resource.kind,
)
def test_kinds_are_registered_as_the_client_asks_for_them(resource: kube.Resource) -> None:
    """Spec v1alpha5 §1.1, spec v1 §1.1."""
    crd = CRDS[resource.kind]
    names, version = crd["spec"]["names"], crd["spec"]["versions"][0]
    assert crd["metadata"]["name"] == f"{resource.plural}.{resource.group}"
    assert (crd["spec"]["group"], version["name"], crd["spec"]["scope"]) == (
        resource.group,
        resource.version,
        "Cluster",
    )
    assert (names["plural"], names["singular"], names["categories"]) == (
        resource.plural,
        resource.kind.lower(),
        ["karpenter"],
    )
    assert version["subresources"]["status"] == {}
    assert (version["served"], version["storage"], len(crd["spec"]["versions"])) == (True, True, 1)


@pytest.mark.parametrize(
    "kind, shown, wide",
    [
        ("Provisioner", "Template", "Weight"),
        ("NodePool", "NodeClass Nodes Ready Age", "Weight CPU Memory"),
        ("NodeClaim", "Type Capacity Zone Node Ready Age", "ImageID ID NodePool Provisioner NodeClass Drifted"),
        ("AWSNodeTemplate", "", ""),
        ("EC2NodeClass", "Ready Age", "Role"),
    ],
)
def test_columns_are_those_that_users_know(kind: str, shown: str, wide: str) -> None:
    """Spec v1alpha5 §1.1 [31], spec v1 §1.1."""
    columns = version_of(kind).get("additionalPrinterColumns", [])
    assert [column["name"] for column in columns if not column.get("priority")] == shown.split()
    assert [column["name"] for column in columns if column.get("priority")] == wide.split()


def test_a_nodepool_can_be_scaled_and_a_node_class_has_short_names() -> None:
    """Spec v1 §1.1."""
    assert version_of("NodePool")["subresources"]["scale"] == {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.nodes",
    }
    assert CRDS["EC2NodeClass"]["spec"]["names"]["shortNames"] == ["ec2nc", "ec2ncs"]


def every_schema(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    inner = [*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")]
    for each in inner:
        if isinstance(each, dict):
            yield from every_schema(each)


@pytest.mark.parametrize("kind", CRDS)
def test_schemas_are_structural(kind: str) -> None:
    """Each value has a type or is int-or-string, and what is required exists."""
    for schema in every_schema(version_of(kind)["schema"]["openAPIV3Schema"]):
        assert ("type" in schema) != (schema.get("x-kubernetes-int-or-string") is True), schema
        assert set(schema.get("required", ())) <= set(schema.get("properties", {})), schema
        assert not ("properties" in schema and "additionalProperties" in schema), schema
