"""The digest of an EC2NodeClass (spec v1 §1.4.4, vectors V73 … V75)."""

from typing import Any

import pytest

from karpenter.model.aws.hashes import ec2_node_class_hash
from karpenter.model.quantity import canonical

DEVICE: dict[str, Any] = {
    "deviceName": "map-device-1",
    "ebs": {
        "deleteOnTermination": False,
        "encrypted": False,
        "iops": 0,
        "kmsKeyID": "fakeKMSKeyID",
        "snapshotID": "fakeSnapshot",
        "throughput": 0,
        "volumeSize": "2G",
        "volumeType": "standard",
    },
}
SPEC: dict[str, Any] = {
    "role": "role-1",
    "tags": {"keyTag-1": "valueTag-1", "keyTag-2": "valueTag-2"},
    "context": "fake-context",
    "detailedMonitoring": False,
    "associatePublicIPAddress": False,
    "metadataOptions": {
        "httpEndpoint": "disabled",
        "httpProtocolIPv6": "disabled",
        "httpPutResponseHopLimit": 1,
        "httpTokens": "optional",
    },
    "blockDeviceMappings": [DEVICE, {"deviceName": "map-device-2"}],
    "userData": "userdata-test-1",
}


def digest(**changes: Any) -> str:
    spec = {name: value for name, value in {**SPEC, **changes}.items() if value is not None}
    return ec2_node_class_hash(spec, family="Custom", ca_bundle="test-ca-bundle")


def test_v73_the_digest_is_karpenters_own() -> None:
    assert digest() == "11148166120438674859"


@pytest.mark.parametrize(
    "changes, expected",
    [
        ({"userData": "userdata-test-2"}, "11774429238106843388"),
        (
            {
                "blockDeviceMappings": [
                    {**DEVICE, "ebs": {**DEVICE["ebs"], "volumeSize": "10G"}},
                    {"deviceName": "map-device-2"},
                ]
            },
            "10372902467896351912",
        ),
        ({"role": None, "instanceProfile": "test-instance-profile"}, "10323991363677716244"),
    ],
)
def test_v74_a_change_of_what_nodes_are_made_of_changes_it(changes: dict[str, Any], expected: str) -> None:
    assert digest(**changes) == expected


def test_v75_selectors_do_not_count() -> None:
    chosen = {"subnetSelectorTerms": [{"id": "subnet-1"}], "securityGroupSelectorTerms": [{"id": "sg-1"}]}
    assert digest(**chosen, amiSelectorTerms=[{"id": "ami-1"}]) == digest()


def test_kubelet_settings_count_and_the_order_of_devices_does_not() -> None:
    assert digest(kubelet={"maxPods": 20}) != digest()
    assert digest(blockDeviceMappings=[{"deviceName": "map-device-2"}, DEVICE]) == digest()


@pytest.mark.parametrize(
    "written, shown",
    [("20480Mi", "20Gi"), ("20Gi", "20Gi"), ("1000M", "1G"), ("2G", "2G"), ("1.5Gi", "1536Mi"), ("7", "7")],
)
def test_quantities_are_digested_as_the_server_prints_them(written: str, shown: str) -> None:
    assert canonical(written) == shown
