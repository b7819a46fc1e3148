"""Whatever a manifest holds, decoding it either works or says what is wrong with it; nothing else happens."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from karpenter.model.aws.nodeclasses import decode_node_class
from karpenter.model.errors import ManifestError
from karpenter.model.pools import decode_nodeclaim, decode_pool, encode_nodeclaim
from karpenter.model.v1alpha5 import default_provisioner
from tests.builders import a_claim, a_node_pool, a_node_template, a_pool, a_provisioner, an_ec2_node_class
from tests.strategies import json_values

EXAMPLE = yaml.safe_load((Path(__file__).parents[1] / "data" / "provisioner.yaml").read_text(encoding="utf-8"))
INLINE = {"subnetSelector": {"a": "b"}, "securityGroupSelector": {"a": "b"}, "blockDeviceMappings": [{"ebs": {}}]}
TAINT = {"key": "a", "value": "b", "effect": "NoSchedule"}

SOUND = (
    (decode_pool, EXAMPLE),
    (decode_pool, a_provisioner(providerRef=None, provider=INLINE)),
    (
        decode_pool,
        a_node_pool(
            template={
                "metadata": {"labels": {"a": "b"}, "annotations": {"a": "b"}},
                "requirements": [{"key": "a", "operator": "In", "values": ["b"], "minValues": 1}],
                "taints": [TAINT],
                "expireAfter": "1h",
            },
            disruption={"budgets": [{"nodes": "5%", "reasons": ["Empty"], "schedule": "@daily", "duration": "8h"}]},
            limits={"cpu": "8"},
        ),
    ),
    (decode_nodeclaim, encode_nodeclaim(a_claim(pool=a_pool(), requirements={"a": ["b"]}, requests={"cpu": "1"}))),
    (
        decode_node_class,
        a_node_template(
            amiSelector={"aws::name": "a,b", "aws::owners": "self"},
            metadataOptions={"httpTokens": "required", "httpPutResponseHopLimit": 3},
            blockDeviceMappings=[{"deviceName": "a", "ebs": {"volumeSize": "20Gi", "iops": 1}}],
            tags={"a": "b"},
        ),
    ),
    (
        decode_node_class,
        an_ec2_node_class(
            kubelet={"maxPods": 1, "evictionSoft": {"memory.available": "5%"}},
            networkInterfaces=[{"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"}],
            capacityReservationSelectorTerms=[{"id": "cr-1"}],
            placementGroupSelector={"name": "a"},
            connectionTracking={"udpTimeout": 30},
        ),
    ),
)


def places(value: object, path: tuple = ()) -> list[tuple]:
    """Return the path of every value inside a JSON document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in places(item, (*path, key)))]


def put(value: Any, path: tuple, new: object) -> object:
    """Return the document with another value at one place."""
    if not path:
        return new
    step, *rest = path
    if isinstance(value, dict):
        return {**value, step: put(value[step], tuple(rest), new)}
    return [put(item, tuple(rest), new) if index == step else item for index, item in enumerate(value)]


@st.composite
def damaged(draw: st.DrawFn) -> tuple[Callable[[object], object], object]:
    """A sound manifest with one to three values replaced by anything."""
    decode, manifest = draw(st.sampled_from(SOUND))
    for _ in range(draw(st.integers(1, 3))):
        manifest = put(manifest, draw(st.sampled_from(places(manifest))), draw(json_values))
    return decode, manifest


def judge(decode: Callable[[object], object], manifest: object) -> None:
    try:
        decode(manifest)
    except ManifestError as error:
        faults = error.errors
    else:
        return
    assert faults
    assert all(fault.reason for fault in faults)


@given(damaged())
def test_a_damaged_manifest_is_decoded_or_refused(case: tuple[Callable[[object], object], object]) -> None:
    judge(*case)


@given(st.sampled_from((decode_pool, decode_nodeclaim, decode_node_class)), json_values)
def test_any_json_at_all_is_decoded_or_refused(decode: Callable[[object], object], value: object) -> None:
    judge(decode, value)


@given(
    st.sampled_from([("karpenter.sh/v1alpha5", "Provisioner"), ("karpenter.sh/v1", "NodePool")]),
    json_values,
    json_values,
)
def test_any_metadata_and_spec_are_decoded_or_refused(
    identity: tuple[str, str], metadata: object, spec: object
) -> None:
    judge(decode_pool, {"apiVersion": identity[0], "kind": identity[1], "metadata": metadata, "spec": spec})


@given(damaged())
def test_defaults_are_filled_into_whatever_there_is(case: tuple[Callable[[object], object], object]) -> None:
    _, manifest = case
    if isinstance(manifest, dict):
        stored = default_provisioner(manifest)
        assert default_provisioner(stored) == stored
