"""Rules of an EC2NodeClass's fields, and what they mean in the hub (spec v1 §1.8, §8.1)."""

import pytest

from karpenter.model.aws.nodeclass import BlockDevice, MetadataOptions, SelectorTerm
from karpenter.model.aws.nodeclasses import decode_ec2_node_class, decode_node_class
from tests.builders import an_ec2_node_class
from tests.refusals import paths_of

GIB = 2**30


def decode(**spec):
    return decode_ec2_node_class(an_ec2_node_class(**spec))


def refused(**spec) -> list[str]:
    return [path.removeprefix("spec.") for path in paths_of(decode_ec2_node_class, an_ec2_node_class(**spec))]


def test_an_ordinary_class_is_read_with_its_defaults() -> None:
    node_class = decode()
    discovery = (SelectorTerm(tags={"karpenter.sh/discovery": "my-cluster"}),)
    assert (node_class.subnet_terms, node_class.security_group_terms) == (discovery, discovery)
    assert node_class.ami_terms == (SelectorTerm(alias="al2023@latest"),)
    assert (node_class.ami_family, node_class.role) == ("AL2023", "KarpenterNodeRole-my-cluster")
    assert node_class.metadata_options == MetadataOptions("enabled", "disabled", 1, "required")
    assert decode_node_class(an_ec2_node_class()) == node_class


@pytest.mark.parametrize(
    "terms, path",
    [
        ([{"alias": "al2023@latest"}, {"id": "ami-1"}], "amiSelectorTerms"),  # V16
        ([{"alias": "al2024@latest"}], "amiSelectorTerms[0].alias"),
        ([{"alias": "al2023"}], "amiSelectorTerms[0].alias"),
        ([{"alias": "windows2022@1.0"}], "amiSelectorTerms[0].alias"),
        ([{"alias": "al2023@" + "1" * 30}], "amiSelectorTerms[0].alias"),
        ([{"alias": "al2023@latest", "tags": {"a": "b"}}], "amiSelectorTerms[0].alias"),
        ([{"id": "ami-1", "owner": "self"}], "amiSelectorTerms[0].id"),
        ([{"id": "i-1"}], "amiSelectorTerms[0].id"),
        ([{"owner": "self"}], "amiSelectorTerms[0]"),
        ([{"tags": {"a": ""}}], "amiSelectorTerms[0].tags.a"),
        ([], "amiSelectorTerms"),
        ([{"id": "ami-1"}] * 31, "amiSelectorTerms"),
        (None, "amiSelectorTerms"),
        ("ami-1", "amiSelectorTerms"),
    ],
)
def test_images_are_selected_one_way_a_term(terms: object, path: str) -> None:
    """V16."""
    assert refused(amiSelectorTerms=terms, amiFamily="Custom") == [path]


def test_a_family_matches_the_alias_or_is_custom() -> None:
    """V17."""
    alias = [{"alias": "bottlerocket@latest"}]
    assert refused(amiSelectorTerms=alias, amiFamily="AL2023") == ["amiFamily"]
    assert decode(amiSelectorTerms=alias, amiFamily="Custom").ami_family == "Custom"
    assert decode(amiSelectorTerms=alias).ami_family == "Bottlerocket"
    assert refused(amiSelectorTerms=[{"id": "ami-1"}]) == ["amiFamily"]


@pytest.mark.parametrize(
    "spec, path",
    [
        ({"subnetSelectorTerms": [{}]}, "subnetSelectorTerms[0]"),
        ({"subnetSelectorTerms": [{"id": "subnet-1", "tags": {"a": "b"}}]}, "subnetSelectorTerms[0].id"),
        ({"subnetSelectorTerms": [{"name": "a", "id": "subnet-1"}]}, "subnetSelectorTerms[0].name"),
        ({"securityGroupSelectorTerms": [{"name": "a", "tags": {"a": "b"}}]}, "securityGroupSelectorTerms[0].name"),
        ({"securityGroupSelectorTerms": [{"id": "subnet-1"}]}, "securityGroupSelectorTerms[0].id"),
        ({"capacityReservationSelectorTerms": [{"ownerID": "123456789012"}]}, "capacityReservationSelectorTerms[0]"),
        ({"capacityReservationSelectorTerms": [{"ownerID": "1", "tags": {"a": "b"}}]},
         "capacityReservationSelectorTerms[0].ownerID"),
        ({"placementGroupSelector": {"name": "a", "id": "pg-1"}}, "placementGroupSelector"),
        ({"role": None}, "role"),
        ({"instanceProfile": "p"}, "role"),
        ({"role": ""}, "role"),
        ({"tags": {"kubernetes.io/cluster/foo": "owned"}}, "tags[kubernetes.io/cluster/foo]"),  # V18
        ({"tags": {"karpenter.sh/nodepool": "x"}}, "tags[karpenter.sh/nodepool]"),
        ({"instanceStorePolicy": "RAID1"}, "instanceStorePolicy"),
        ({"networkInterfaces": [{"networkCardIndex": 0, "deviceIndex": 1, "interfaceType": "efa-only"}]},
         "networkInterfaces"),  # V19
        ({"networkInterfaces": [{"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"}] * 2},
         "networkInterfaces"),
        ({"connectionTracking": {}}, "connectionTracking"),
        ({"connectionTracking": {"udpTimeout": 61}}, "connectionTracking.udpTimeout"),
        ({"cpuOptions": {"nestedVirtualization": "on"}}, "cpuOptions.nestedVirtualization"),
        ({"ipPrefixCount": -1}, "ipPrefixCount"),
        ({"kubelet": {"registerWithTaints": []}}, "kubelet.registerWithTaints"),
        ({"kubelet": {"evictionSoft": {"memory.available": "5%"}}}, "kubelet.evictionSoft"),
        ({"launchTemplate": "mine"}, "launchTemplate"),
    ],
)  # fmt: skip
def test_other_fields_follow_their_rules(spec: dict, path: str) -> None:
    """V18, V19, §1.8."""
    assert refused(**spec) == [path]


def device(name: str = "/dev/xvda", *, root: bool = False, **ebs: object) -> dict:
    return {"deviceName": name, "rootVolume": root, "ebs": ebs}


@pytest.mark.parametrize(
    "devices, path",
    [
        ([device()], "[0].ebs.volumeSize"),
        ([device(volumeSize="1G")], "[0].ebs.volumeSize"),
        ([device(volumeSize="65Ti")], "[0].ebs.volumeSize"),
        ([device(volumeSize="20Gi", volumeInitializationRate=100)], "[0].ebs.volumeInitializationRate"),
        ([device(snapshotID="snap-1", volumeInitializationRate=99)], "[0].ebs.volumeInitializationRate"),
        ([device(root=True, volumeSize="20Gi"), device("/dev/xvdb", root=True, volumeSize="20Gi")], ""),
        ([device(volumeSize="20Gi")] * 51, ""),
    ],
)
def test_volumes_follow_their_rules(devices: list[dict], path: str) -> None:
    """§1.8."""
    assert refused(blockDeviceMappings=devices) == [f"blockDeviceMappings{path}"]


def test_volumes_are_exact_and_know_the_root() -> None:
    given = [device(root=True, volumeSize="100Gi", volumeType="gp3", throughput=125)]
    assert decode(blockDeviceMappings=given).block_devices == (
        BlockDevice("/dev/xvda", 100 * GIB, "gp3", throughput=125, is_root=True),
    )


def test_kubelet_settings_we_do_not_compute_with_are_kept() -> None:
    node_class = decode(kubelet={"maxPods": 20, "topologyManagerPolicy": "best-effort"})
    assert node_class.kubelet.max_pods == 20
    assert node_class.other == {"kubelet": {"topologyManagerPolicy": "best-effort"}}


def test_parts_that_are_not_used_yet_are_kept() -> None:
    tracking = {"udpTimeout": 30}
    assert decode(connectionTracking=tracking).other == {"connectionTracking": tracking}
