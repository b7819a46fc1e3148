"""Rules of an AWSNodeTemplate's fields, and what they mean in the hub (spec v1alpha5 §1.8, §7.1)."""

import pytest

from karpenter.model.aws.nodeclass import BlockDevice, MetadataOptions, SelectorTerm
from karpenter.model.aws.nodeclasses import decode_aws_node_template, decode_node_class, inline_node_class
from karpenter.model.errors import FieldError
from karpenter.model.nodepool import Origin
from karpenter.model.v1alpha5 import decode_provisioner
from tests.builders import a_node_template, a_pool, a_provisioner
from tests.refusals import errors_of, paths_of

GIB = 2**30


def decode(**spec):
    return decode_aws_node_template(a_node_template(**spec))


def refused(**spec) -> list[str]:
    return paths_of(decode_aws_node_template, a_node_template(**spec))


def test_the_companion_of_the_example_is_read_with_its_defaults() -> None:
    """§1.8."""
    node_class = decode()
    discovery = (SelectorTerm(tags={"karpenter.sh/discovery": "my-cluster"}),)
    assert node_class.origin == Origin("karpenter.k8s.aws/v1alpha1", "AWSNodeTemplate", "default", "")
    assert (node_class.subnet_terms, node_class.security_group_terms, node_class.ami_terms) == (
        discovery,
        discovery,
        (),
    )
    assert (node_class.ami_family, node_class.block_devices) == ("AL2", ())
    assert node_class.metadata_options == MetadataOptions("enabled", None, 2, "required")


def test_a_subnet_selector_is_required_and_a_security_group_selector_unless_a_launch_template_has_it() -> None:
    """TV-23."""
    assert refused(subnetSelector=None) == ["spec.subnetSelector"]
    assert refused(securityGroupSelector=None) == ["spec.securityGroupSelector"]
    assert decode(securityGroupSelector=None, launchTemplate="mine").launch_template == "mine"


@pytest.mark.parametrize(
    "field, value",
    [
        ("userData", "echo"),  # TV-24
        ("securityGroupSelector", {"a": "b"}),
        ("metadataOptions", {}),
        ("amiFamily", "AL2"),
        ("instanceProfile", "p"),
        ("blockDeviceMappings", []),
        ("amiSelector", {"a": "b"}),
    ],
)
def test_a_launch_template_leaves_nothing_to_say_about_what_is_in_it(field: str, value: object) -> None:
    """TV-24, API-51."""
    given = {"securityGroupSelector": None, "launchTemplate": "mine", field: value}
    assert errors_of(decode_aws_node_template, a_node_template(**given)) == (
        FieldError(f"spec.{field}", f"expected exactly one of spec.launchTemplate and spec.{field}, got both"),
    )


def test_custom_images_must_be_selected() -> None:
    """TV-25."""
    assert refused(amiFamily="Custom") == ["spec.amiSelector"]
    assert decode(amiFamily="Custom", amiSelector={"a": "b"}).ami_family == "Custom"


@pytest.mark.parametrize("family", ["AL2", "Bottlerocket", "Ubuntu", "Windows2019", "Windows2022"])
def test_families_of_images_are_known(family: str) -> None:
    assert decode(amiFamily=family).ami_family == family


def test_another_family_is_refused() -> None:
    assert refused(amiFamily="AL2023") == ["spec.amiFamily"]


@pytest.mark.parametrize(
    "options, path",
    [
        ({"httpPutResponseHopLimit": 0}, "httpPutResponseHopLimit"),
        ({"httpPutResponseHopLimit": 65}, "httpPutResponseHopLimit"),
        ({"httpTokens": "maybe"}, "httpTokens"),
        ({"httpEndpoint": "on"}, "httpEndpoint"),
        ({"httpProtocolIPv6": "on"}, "httpProtocolIPv6"),
    ],
)
def test_options_of_the_metadata_service_have_bounds(options: dict, path: str) -> None:
    """TV-27."""
    assert refused(metadataOptions=options) == [f"spec.metadataOptions.{path}"]


def test_options_not_said_keep_their_defaults() -> None:
    """TV-27."""
    options = {"httpPutResponseHopLimit": 64, "httpProtocolIPv6": "enabled"}
    assert decode(metadataOptions=options).metadata_options == MetadataOptions("enabled", "enabled", 64, "required")


def device(**ebs: object) -> list[dict]:
    return [{"deviceName": "/dev/xvda", "ebs": ebs}]


@pytest.mark.parametrize(
    "devices, path",
    [
        (device(volumeType="gp3"), "[0].ebs.volumeSize"),
        (device(volumeSize="65Ti"), "[0].ebs.volumeSize"),
        (device(volumeSize="999M"), "[0].ebs.volumeSize"),
        (device(volumeSize="big"), "[0].ebs.volumeSize"),
        (device(volumeSize="1G", volumeType="gp9"), "[0].ebs.volumeType"),
        (device(volumeSize="1G", iops="3000"), "[0].ebs.iops"),
        ([{"deviceName": "/dev/xvda"}], "[0].ebs"),
        ([{"ebs": {"volumeSize": "1G"}}], "[0].deviceName"),
    ],
)
def test_volumes_have_a_size_a_known_type_and_a_device(devices: list[dict], path: str) -> None:
    """TV-28, API-52."""
    assert refused(blockDeviceMappings=devices) == [f"spec.blockDeviceMappings{path}"]


def test_sizes_of_volumes_are_exact_bytes_and_a_snapshot_has_its_own() -> None:
    """API-52."""
    devices = decode(blockDeviceMappings=[*device(volumeSize="1G", encrypted=True), *device(snapshotID="snap-1")])
    assert devices.block_devices == (
        BlockDevice("/dev/xvda", 10**9, encrypted=True),
        BlockDevice("/dev/xvda", None, snapshot_id="snap-1"),
    )


@pytest.mark.parametrize(
    "key", ["karpenter.sh/provisioner-name", "karpenter.sh/managed-by", "kubernetes.io/cluster/mine", ""]
)
def test_tags_that_karpenter_sets_are_refused(key: str) -> None:
    """TV-29."""
    path = f"spec.tags[{key}]" if key else "spec.tags"
    assert refused(tags={key: "x"}) == [path]


def test_other_tags_are_kept() -> None:
    assert decode(tags={"Name": "foo", "empty": ""}).tags == {"Name": "foo", "empty": ""}


def test_a_number_as_a_tag_is_answered_with_what_to_write() -> None:
    assert errors_of(decode_aws_node_template, a_node_template(tags={"cost": 7})) == (
        FieldError("spec.tags.cost", "expected a string, got the number 7", 'write "7"'),
    )


def test_all_errors_come_at_once_under_their_true_paths() -> None:
    """API-53."""
    assert refused(subnetSelector={}, amiFamily="X", detailedMonitoring="yes", zone="a") == [
        "spec.amiFamily",
        "spec.subnetSelector",
        "spec.detailedMonitoring",
        "spec.zone",
    ]


def test_an_inline_provider_is_a_node_class_without_a_name_of_its_own() -> None:
    """API-30."""
    inline = {
        "subnetSelector": {"Name": "*"},
        "securityGroupSelector": {"Name": "*"},
        "instanceProfile": "mine",
        "amiFamily": "Bottlerocket",
    }
    pool = decode_provisioner(a_provisioner("legacy", providerRef=None, provider=inline))[0]
    node_class = inline_node_class(pool)
    assert (node_class.name, node_class.ami_family, node_class.instance_profile) == ("legacy", "Bottlerocket", "mine")
    assert inline_node_class(a_pool()) is None


def test_node_classes_are_told_apart_by_kind_and_version() -> None:
    assert decode_node_class(a_node_template()) == decode()
    other = {**a_node_template(), "apiVersion": "karpenter.sh/v1"}
    assert errors_of(decode_node_class, other)[0].reason == "karpenter.sh/v1 AWSNodeTemplate is no node class"
