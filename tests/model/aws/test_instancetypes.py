"""Labels and offerings of instance types (spec v1alpha5 §1.4, §3.2, vectors TV-57 and TV-94's facts)."""

import pytest

from karpenter.model import labels
from karpenter.model.aws.allocatable import Build
from karpenter.model.aws.catalog import InstanceTypeRecord, load_aws_catalog
from karpenter.model.aws.instancetypes import InstanceTypeCache, instance_type
from karpenter.model.aws.settings import DEFAULT_SETTINGS
from karpenter.model.instancetype import InstanceType, Offering
from karpenter.model.requirements import Requirement
from tests.awsbuilders import REGION, SEED_KUBELET, a_kubelet, a_record, an_aws_node_class

PREFIX = "karpenter.k8s.aws/instance-"


def offered(name: str, *offerings: Offering, **build: object) -> InstanceType:
    return instance_type(a_record(name), region=REGION, offerings=offerings, **build)  # type: ignore[arg-type]


def values(found: InstanceType) -> dict[str, str]:
    """Return the single-valued labels of a type, the AWS prefix left out."""
    return {
        key.removeprefix(PREFIX): next(iter(requirement.values))
        for key, requirement in found.requirements.items()
        if len(requirement.values) == 1
    }


@pytest.mark.parametrize(
    "name, category, generation, family, size",
    [
        ("m5.large", "m", "5", "m5", "large"),
        ("c6gd.xlarge", "c", "6", "c6gd", "xlarge"),
        ("g4dn.xlarge", "g", "4", "g4dn", "xlarge"),
        ("inf1.2xlarge", "inf", "1", "inf1", "2xlarge"),
        ("trn1.2xlarge", "trn", "1", "trn1", "2xlarge"),
        ("trn1n.32xlarge", "trn", "1", "trn1n", "32xlarge"),
        ("x2gd.medium", "x", "2", "x2gd", "medium"),
        ("u-6tb1.112xlarge", "u", "1", "u-6tb1", "112xlarge"),
        ("m5.metal", "m", "5", "m5", "metal"),
    ],
)
def test_category_generation_family_and_size_come_from_the_name(
    name: str, category: str, generation: str, family: str, size: str
) -> None:
    """TV-57, AWS-15."""
    found = values(offered(name))
    assert (found["category"], found["generation"], found["family"], found["size"]) == (
        category,
        generation,
        family,
        size,
    )


def test_a_name_out_of_pattern_has_neither_category_nor_generation() -> None:
    record = InstanceTypeRecord(
        cpu=1,
        memory_mib=1024,
        arch="amd64",
        hypervisor="nitro",
        usage_classes=(),
        enis=2,
        ips_per_eni=2,
        zone_letters={},
        name="odd.large",
    )
    found = instance_type(record, region=REGION, offerings=())
    assert found.requirements[labels.INSTANCE_CATEGORY].operator == "DoesNotExist"
    assert found.requirements[labels.INSTANCE_GENERATION].operator == "DoesNotExist"


@pytest.mark.parametrize(
    "wanted, allowed",
    [
        (Requirement.of(labels.INSTANCE_HYPERVISOR, "In", ("nitro",)), False),
        (Requirement.of(labels.INSTANCE_HYPERVISOR, "NotIn", ("xen",)), True),
        (Requirement.of(labels.INSTANCE_HYPERVISOR, "DoesNotExist"), False),
    ],
)
def test_bare_metal_has_an_empty_hypervisor(wanted: Requirement, allowed: bool) -> None:
    """AWS-13, TV-57."""
    hypervisor = offered("m5.metal").requirements[labels.INSTANCE_HYPERVISOR]
    assert hypervisor.values == frozenset({""})
    assert hypervisor.overlaps(wanted) == allowed


def test_an_ordinary_type_has_every_label_or_says_that_it_does_not() -> None:
    """§1.4, AWS-12."""
    found = offered("m5.large", Offering("us-west-2a", "spot", 0.04))
    assert values(found) == {
        "category": "m",
        "generation": "5",
        "family": "m5",
        "size": "large",
        "cpu": "2",
        "memory": "8192",
        "pods": "29",
        "hypervisor": "nitro",
        "network-bandwidth": "750",
        "encryption-in-transit-supported": "false",
        labels.INSTANCE_TYPE: "m5.large",
        labels.ARCH: "amd64",
        labels.OS: "linux",
        labels.REGION: "us-west-2",
        labels.ZONE: "us-west-2a",
        labels.CAPACITY_TYPE: "spot",
    }
    missing = {key for key, requirement in found.requirements.items() if requirement.operator == "DoesNotExist"}
    assert missing == {
        labels.INSTANCE_GPU_NAME,
        labels.INSTANCE_GPU_MANUFACTURER,
        labels.INSTANCE_GPU_COUNT,
        labels.INSTANCE_GPU_MEMORY,
        labels.INSTANCE_ACCELERATOR_NAME,
        labels.INSTANCE_ACCELERATOR_MANUFACTURER,
        labels.INSTANCE_ACCELERATOR_COUNT,
        labels.INSTANCE_LOCAL_NVME,
        labels.WINDOWS_BUILD,
        *labels.RESERVATION_KEYS,
    }


def test_a_type_that_reservations_hold_names_them_and_one_without_has_none_of_their_labels() -> None:
    """A-28, §4.5; V61."""
    held = Offering("us-west-2a", "reserved", 9.6e-9, reservation_id="cr-1", reservation_capacity=2)
    found = instance_type(a_record("m5.large"), region=REGION, offerings=[held])
    assert found.requirements[labels.RESERVATION_ID].values == {"cr-1"}
    assert found.requirements[labels.RESERVATION_TYPE].values == {"default"}
    assert found.requirements[labels.RESERVATION_INTERRUPTIBLE].values == {"false"}
    assert found.requirements[labels.CAPACITY_TYPE].values == {"reserved"}


def test_every_type_names_exactly_the_well_known_labels_but_its_pools() -> None:
    for record in load_aws_catalog().records.values():
        found = instance_type(record, region=REGION, offerings=())
        assert set(found.requirements) == labels.WELL_KNOWN - {labels.PROVISIONER, labels.NODEPOOL}


@pytest.mark.parametrize(
    "name, expected",
    [
        (
            "g4dn.xlarge",
            {"gpu-name": "t4", "gpu-manufacturer": "nvidia", "gpu-count": "1", "gpu-memory": "16384"}
            | {"local-nvme": "125"},
        ),
        ("dl1.24xlarge", {"gpu-name": "gaudi-hl-205", "gpu-manufacturer": "habana", "gpu-count": "8"}),
        (
            "inf1.2xlarge",
            {"accelerator-name": "inferentia", "accelerator-manufacturer": "aws", "accelerator-count": "1"},
        ),
        ("trn1.32xlarge", {"accelerator-name": "inferentia", "accelerator-count": "16"}),
        ("p3.8xlarge", {"hypervisor": "xen", "gpu-name": "v100", "gpu-count": "4"}),
        ("m6g.large", {labels.ARCH: "arm64"}),
    ],
)
def test_devices_and_architecture_show_in_labels(name: str, expected: dict[str, str]) -> None:
    """AWS-14, AWS-16."""
    assert expected.items() <= values(offered(name)).items()


def test_gpu_types_have_no_accelerator_labels() -> None:
    """AWS-14, profile [31]."""
    assert offered("g4dn.xlarge").requirements[labels.INSTANCE_ACCELERATOR_NAME].operator == "DoesNotExist"


def test_bandwidth_that_ec2_gives_in_words_is_absent() -> None:
    """§1.4."""
    assert offered("c3.large").requirements[labels.INSTANCE_NETWORK_BANDWIDTH].operator == "DoesNotExist"


def test_zones_and_capacity_types_are_those_of_available_offerings() -> None:
    """AWS-12."""
    found = offered(
        "m5.large",
        Offering("us-west-2a", "spot", 0.04, available=False),
        Offering("us-west-2a", "on-demand", 0.096, available=False),
        Offering("us-west-2b", "on-demand", 0.096),
    )
    assert found.requirements[labels.ZONE].values == {"us-west-2b"}
    assert found.requirements[labels.CAPACITY_TYPE].values == {"on-demand"}
    assert len(found.offerings) == 3


def test_a_type_that_nobody_has_allows_no_zone() -> None:
    assert offered("m5.large").requirements[labels.ZONE].operator == "DoesNotExist"


def test_pod_capacity_under_the_kubelet_settings_is_a_label() -> None:
    """§1.4."""
    assert values(offered("m5.2xlarge", kubelet=SEED_KUBELET))["pods"] == "16"


def test_windows_families_have_os_and_build() -> None:
    """§1.4."""
    found = values(offered("m5.large", node_class=an_aws_node_class(family="Windows2022")))
    assert (found[labels.OS], found[labels.WINDOWS_BUILD]) == ("windows", "10.0.20348")


def at_one_dollar(record: InstanceTypeRecord) -> tuple[Offering, ...]:
    return tuple(Offering(zone, "on-demand", 1.0) for zone in record.zones(REGION))


def test_the_cache_gives_the_same_objects_for_equal_inputs() -> None:
    cache = InstanceTypeCache(REGION, DEFAULT_SETTINGS)
    records = load_aws_catalog().in_region(REGION)[:50]
    first = cache.resolve(records, at_one_dollar, Build.of(an_aws_node_class("one"), None))
    again = cache.resolve(records, at_one_dollar, Build.of(an_aws_node_class("two"), None))
    assert all(one is other for one, other in zip(first, again, strict=True))


def test_the_cache_notices_changed_offerings_and_settings() -> None:
    cache = InstanceTypeCache(REGION, DEFAULT_SETTINGS)
    records = [a_record("m5.large"), a_record("m5.xlarge")]

    def without_large(record: InstanceTypeRecord) -> tuple[Offering, ...]:
        return () if record.name == "m5.large" else at_one_dollar(record)

    large, xlarge = cache.resolve(records, at_one_dollar, Build.of(None, None))
    large_gone, xlarge_same = cache.resolve(records, without_large, Build.of(None, None))
    assert (large_gone.offerings, large_gone.capacity) == ((), large.capacity)
    assert xlarge_same is xlarge
    (fewer_pods, _) = cache.resolve(records, at_one_dollar, Build.of(None, a_kubelet(max_pods=3)))
    assert fewer_pods.allocatable["pods"] == 3


def test_the_cache_agrees_with_the_plain_function() -> None:
    cache = InstanceTypeCache(REGION, DEFAULT_SETTINGS)
    build = Build.of(an_aws_node_class(), SEED_KUBELET)
    for record in load_aws_catalog().in_region(REGION)[::40]:
        plain = instance_type(
            record, region=REGION, offerings=at_one_dollar(record), node_class=an_aws_node_class(), kubelet=SEED_KUBELET
        )
        assert cache.resolve([record], at_one_dollar, build) == (plain,)
