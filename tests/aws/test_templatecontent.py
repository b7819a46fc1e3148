"""What launch templates say. Source: spec v1 A-40; spec v1alpha5 §3.8, AWS-56."""

import base64
from typing import Any

import pytest

from karpenter.aws.resolved import PlacementGroup, Subnet
from karpenter.aws.templatecontent import Recipe, template_content
from karpenter.model.aws.nodeclass import BlockDevice, MetadataOptions
from tests.aws.resolving import ZONE, an_ami, resolved
from tests.awsbuilders import GIB, an_aws_node_class

GROUPS = ["sg-1", "sg-2"]


def content(recipe: dict[str, Any] | None = None, *, of: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """Return the content for a node class with these fields; `of` changes what it resolves to."""
    usual: dict[str, Any] = {"ami": an_ami(), "user_data": "hi", "tags": {"b": "2", "a": "1"}}
    one = resolved(an_aws_node_class(**fields), **(of or {}))
    return template_content(one, Recipe(**(usual | (recipe or {}))))


def test_a_plain_class_gives_a_plain_template() -> None:
    """A-40, §3.8."""
    tags = [{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "2"}]
    assert content() == {
        "ImageId": "ami-1",
        "UserData": base64.b64encode(b"hi").decode(),
        "BlockDeviceMappings": [
            {"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 20, "VolumeType": "gp3", "Encrypted": True}}
        ],
        "IamInstanceProfile": {"Name": "nodes"},
        "Monitoring": {"Enabled": False},
        "MetadataOptions": {
            "HttpEndpoint": "enabled",
            "HttpProtocolIpv6": "disabled",
            "HttpPutResponseHopLimit": 2,
            "HttpTokens": "required",
            "InstanceMetadataTags": "disabled",
        },
        "TagSpecifications": [
            {"ResourceType": kind, "Tags": tags}
            for kind in ("instance", "volume", "network-interface", "spot-instances-request")
        ],
        "CapacityReservationSpecification": {"CapacityReservationPreference": "none"},
        "SecurityGroupIds": GROUPS,
    }


@pytest.mark.parametrize(
    "family, sizes",
    [
        ("Bottlerocket", {"/dev/xvda": 4, "/dev/xvdb": 20}),
        ("Ubuntu", {"/dev/sda1": 20}),
        ("Windows2022", {"/dev/sda1": 50}),
        ("Custom", {}),
    ],
)
def test_each_family_has_volumes_of_its_own(family: str, sizes: dict[str, int]) -> None:
    """§3.8."""
    mappings = content(family=family).get("BlockDeviceMappings", [])
    assert {mapping["DeviceName"]: mapping["Ebs"]["VolumeSize"] for mapping in mappings} == sizes


def test_every_setting_of_a_volume_is_said_and_its_size_rounded_up() -> None:
    """AWS-56."""
    device = BlockDevice(
        "/dev/xvda",
        volume_size_bytes=GIB + 1,
        volume_type="io2",
        iops=1000,
        throughput=125,
        encrypted=True,
        kms_key_id="key",
        snapshot_id="snap-1",
        delete_on_termination=False,
        volume_initialization_rate=200,
    )
    assert content(block_devices=(device,))["BlockDeviceMappings"] == [
        {
            "DeviceName": "/dev/xvda",
            "Ebs": {
                "VolumeSize": 2,
                "VolumeType": "io2",
                "Iops": 1000,
                "Throughput": 125,
                "Encrypted": True,
                "KmsKeyId": "key",
                "SnapshotId": "snap-1",
                "DeleteOnTermination": False,
                "VolumeInitializationRate": 200,
            },
        }
    ]


def test_the_metadata_service_answers_by_ipv6_where_the_cluster_speaks_it() -> None:
    """Spec v1alpha5 §1.8; what the class says goes before."""
    assert content({"is_ipv6": True})["MetadataOptions"]["HttpProtocolIpv6"] == "enabled"
    said = MetadataOptions(http_protocol_ipv6="disabled")
    assert content({"is_ipv6": True}, metadata_options=said)["MetadataOptions"]["HttpProtocolIpv6"] == "disabled"


def test_a_reserved_machine_may_use_only_its_reservation() -> None:
    """A-40."""
    assert content({"reservation_id": "cr-1"})["CapacityReservationSpecification"] == {
        "CapacityReservationPreference": "capacity-reservations-only",
        "CapacityReservationTarget": {"CapacityReservationId": "cr-1"},
    }


def test_machines_of_a_provisioner_use_open_reservations_as_the_account_has_them() -> None:
    assert "CapacityReservationSpecification" not in content({"minds_reservations": False})


@pytest.mark.parametrize("said, expected", [(True, True), (False, False)])
def test_a_public_address_is_asked_for_as_the_class_says(said: bool, expected: bool) -> None:
    """Spec v1 §1.8."""
    made = content(associate_public_ip=said)
    assert "SecurityGroupIds" not in made
    assert made["NetworkInterfaces"] == [
        {
            "NetworkCardIndex": 0,
            "DeviceIndex": 0,
            "AssociatePublicIpAddress": expected,
            "DeleteOnTermination": True,
            "Groups": GROUPS,
        }
    ]


def test_no_public_address_is_said_aloud_where_no_subnet_gives_one() -> None:
    """AWS-56."""
    private = (Subnet("subnet-1", ZONE),)
    assert content(of={"subnets": private})["NetworkInterfaces"][0]["AssociatePublicIpAddress"] is False


@pytest.mark.parametrize(
    "is_ipv6, prefixes, expected",
    [
        (False, 2, {"Ipv4PrefixCount": 2}),
        (True, None, {"PrimaryIpv6": True, "Ipv6AddressCount": 1}),
        (True, 1, {"PrimaryIpv6": True, "Ipv6PrefixCount": 1}),
    ],
)
def test_prefixes_and_ipv6_addresses_are_those_of_the_first_interface(
    is_ipv6: bool, prefixes: int | None, expected: dict[str, Any]
) -> None:
    """A-40."""
    made = content({"is_ipv6": is_ipv6}, other={"ipPrefixCount": prefixes} if prefixes else {})
    assert expected.items() <= made["NetworkInterfaces"][0].items()


def test_every_network_card_gets_an_elastic_fabric_adapter() -> None:
    """A-40."""
    made = content({"efas": 3})["NetworkInterfaces"]
    assert [(one["NetworkCardIndex"], one["DeviceIndex"], one["InterfaceType"]) for one in made] == [
        (0, 0, "efa"),
        (1, 1, "efa"),
        (2, 1, "efa"),
    ]


def test_interfaces_of_the_class_are_taken_as_named_with_their_connection_tracking() -> None:
    """Spec v1 §1.8."""
    other = {
        "networkInterfaces": [
            {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"},
            {"networkCardIndex": 0, "deviceIndex": 1, "interfaceType": "efa-only"},
        ],
        "connectionTracking": {"udpTimeout": 30},
    }
    made = content(other=other)["NetworkInterfaces"]
    assert [(one["InterfaceType"], one.get("ConnectionTrackingSpecification")) for one in made] == [
        ("interface", {"UdpTimeout": 30}),
        ("efa-only", None),
    ]


def test_placement_group_processor_options_and_monitoring_are_said() -> None:
    """A-40."""
    group = PlacementGroup("pg-1", "mine", "cluster")
    other = {"cpuOptions": {"nestedVirtualization": "enabled"}}
    made = content(of={"placement_group": group}, other=other, detailed_monitoring=True)
    assert made["Placement"] == {"GroupId": "pg-1"}
    assert made["CpuOptions"] == {"NestedVirtualization": "enabled"}
    assert made["Monitoring"] == {"Enabled": True}
