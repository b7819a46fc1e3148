"""The arithmetic from EC2's facts to what pods can use (spec v1alpha5 §3.3, vectors TV-45 … TV-56)."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karpenter.model.aws import allocatable as maths
from karpenter.model.aws.allocatable import Build, capacity_and_allocatable
from karpenter.model.aws.catalog import InstanceTypeRecord, load_aws_catalog
from karpenter.model.aws.settings import DEFAULT_SETTINGS, AwsSettings
from karpenter.model.nodepool import KubeletConfiguration
from karpenter.model.resources import parse_resources
from tests.awsbuilders import GIB, MIB, SEED_KUBELET, a_kubelet, a_record, an_aws_node_class

AL2 = Build.of(None, None)


def a_shape(
    *, cpu: int = 2, memory_mib: int = 8192, arch: str = "amd64", enis: int = 3, ips: int = 10, name: str = "x1.large"
) -> InstanceTypeRecord:
    return InstanceTypeRecord(
        cpu=cpu,
        memory_mib=memory_mib,
        arch=arch,
        hypervisor="nitro",
        usage_classes=("on-demand",),
        enis=enis,
        ips_per_eni=ips,
        zone_letters={"us-west-2": "a"},
        name=name,
    )


def usable(
    type_name: str,
    kubelet: KubeletConfiguration | None = None,
    *,
    family: str = "AL2",
    disks: Mapping[str, int] | None = None,
    settings: AwsSettings = DEFAULT_SETTINGS,
) -> dict[str, int]:
    build = Build.of(an_aws_node_class(family=family, disks=disks), kubelet)
    return capacity_and_allocatable(a_record(type_name), build, settings)[1]


@pytest.mark.parametrize(
    "cores, millis", [(1, 60), (2, 70), (4, 80), (8, 90), (16, 110), (32, 150), (48, 190), (96, 310)]
)
def test_the_kubelet_reserves_cpu_by_tiers_of_cores(cores: int, millis: int) -> None:
    """TV-45."""
    assert maths.kube_reserved(a_shape(cpu=cores), AL2, pods=29)["cpu"] == millis


@pytest.mark.parametrize("enis, ips, mib", [(3, 10, 574), (4, 15, 893), (8, 30, 2829), (15, 50, 8362)])
def test_the_kubelet_reserves_memory_by_pods(enis: int, ips: int, mib: int) -> None:
    """TV-46: 29, 58, 234 and 737 pods."""
    assert maths.kube_reserved(a_shape(enis=enis, ips=ips), AL2, pods=0)["memory"] == mib * MIB


@pytest.mark.parametrize(
    "mib, arch, left",
    [(8192, "amd64", 7577), (16384, "amd64", 15155), (4096, "amd64", 3788), (8192, "arm64", 7518)],
)
def test_the_hypervisor_keeps_a_share_of_memory(mib: int, arch: str, left: int) -> None:
    """TV-47, TV-48."""
    assert maths.memory_capacity(a_shape(memory_mib=mib, arch=arch), DEFAULT_SETTINGS) == left * MIB


def test_no_overhead_leaves_all_memory() -> None:
    assert maths.memory_capacity(a_shape(memory_mib=8192), AwsSettings(vm_memory_overhead_percent=0.0)) == 8192 * MIB


@pytest.mark.parametrize(
    "enis, ips, reserved, pods",
    [(4, 15, 0, 58), (3, 10, 0, 29), (2, 2, 0, 4), (15, 50, 0, 737), (4, 15, 1, 44), (4, 15, 4, 0), (4, 15, 5, 0)],
)
def test_network_interfaces_limit_pods(enis: int, ips: int, reserved: int, pods: int) -> None:
    """TV-49."""
    assert maths.eni_limited_pods(a_shape(enis=enis, ips=ips), reserved_enis=reserved) == pods


DEFAULTS = {
    "t3.micro": {"cpu": "1930m", "memory": "548Mi", "pods": 4},
    "t3.medium": {"cpu": "1930m", "memory": "3246Mi", "pods": 17},
    "m5.large": {"cpu": "1930m", "memory": "6903Mi", "pods": 29},
    "c5.large": {"cpu": "1930m", "memory": "3114Mi", "pods": 29},
    "r5.large": {"cpu": "1930m", "memory": "14481Mi", "pods": 29},
    "m5.xlarge": {"cpu": "3920m", "memory": "14162Mi", "pods": 58},
    "c5.xlarge": {"cpu": "3920m", "memory": "6584Mi", "pods": 58},
    "m5.2xlarge": {"cpu": "7910m", "memory": "29317Mi", "pods": 58},
    "m5.4xlarge": {"cpu": "15890m", "memory": "57691Mi", "pods": 234},
    "c5.4xlarge": {"cpu": "15890m", "memory": "27381Mi", "pods": 234},
    "c5.9xlarge": {"cpu": "35840m", "memory": "65269Mi", "pods": 234},
    "m5.24xlarge": {"cpu": "95690m", "memory": "355262Mi", "pods": 737},
    "m6g.large": {"cpu": "1930m", "memory": "6844Mi", "pods": 29},
    "m6g.xlarge": {"cpu": "3920m", "memory": "14103Mi", "pods": 58},
    "g4dn.xlarge": {"cpu": "3920m", "memory": "14481Mi", "pods": 29, "nvidia.com/gpu": 1},
    "p3.8xlarge": {"cpu": "31850m", "memory": "228187Mi", "pods": 234, "nvidia.com/gpu": 4},
    "inf1.2xlarge": {"cpu": "7910m", "memory": "14382Mi", "pods": 38, "aws.amazon.com/neuron": 1},
    "dl1.24xlarge": {"cpu": "95690m", "memory": "718987Mi", "pods": 737, "habana.ai/gaudi": 8},
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_default_allocatable_is_the_specs(name: str) -> None:
    """TV-50, every row of §3.3."""
    assert usable(name) == parse_resources({"ephemeral-storage": "17Gi", **DEFAULTS[name]})


@pytest.mark.parametrize("name, count", [("m5.large", 9), ("m5.xlarge", 18), ("m5.4xlarge", 54), ("m5.24xlarge", 107)])
def test_pod_interfaces_are_allocatable_when_enabled(name: str, count: int) -> None:
    """TV-50, column extra."""
    assert usable(name, settings=AwsSettings(enable_pod_eni=True))["vpc.amazonaws.com/pod-eni"] == count


def test_a_type_that_cannot_trunk_has_no_pod_interfaces() -> None:
    """AWS-28."""
    assert "vpc.amazonaws.com/pod-eni" not in usable("t3.medium", settings=AwsSettings(enable_pod_eni=True))


SEED = {
    "c5.xlarge": {"pods": 8, "cpu": "3700m", "memory": 7211057152},
    "m5.xlarge": {"pods": 8, "cpu": "3700m", "memory": 14886895616},
    "m5.2xlarge": {"pods": 16, "cpu": "7700m", "memory": 29983506432},
    "m5.4xlarge": {"pods": 20, "cpu": "15700m", "memory": 60176728064},
    "m5.8xlarge": {"pods": 20, "cpu": "31700m", "memory": 120564167475},
}


@pytest.mark.parametrize("name", SEED)
def test_allocatable_under_the_seeds_kubelet_settings_is_the_specs(name: str) -> None:
    """TV-51, every AL2 row of §3.3."""
    assert usable(name, SEED_KUBELET) == parse_resources({"ephemeral-storage": "13Gi", **SEED[name]})


def test_bottlerocket_ignores_pods_per_core_and_soft_thresholds() -> None:
    """TV-51, last row."""
    assert usable("m5.xlarge", SEED_KUBELET, family="Bottlerocket") == parse_resources(
        {"pods": 20, "cpu": "3700m", "memory": 14886895616, "ephemeral-storage": "14Gi"}
    )


@pytest.mark.parametrize("family, reserved_mib", [("AL2", 574), ("AL2023", 574), ("Bottlerocket", 1465)])
def test_max_pods_changes_the_memory_reserve_only_where_the_family_says_so(family: str, reserved_mib: int) -> None:
    """TV-52; spec v1 V58."""
    allocatable = usable("m5.large", a_kubelet(max_pods=110), family=family)
    assert allocatable["pods"] == 110
    assert allocatable["memory"] == (7577 - reserved_mib - 100) * MIB


@pytest.mark.parametrize(
    "name, pods, has_mib, reserved, left",
    [
        ("m5.large", 29, 7577, {"memory": "574Mi", "cpu": "70m"}, {"memory": "6903Mi", "cpu": "1930m"}),
        ("c5.xlarge", 58, 7577, {"memory": "893Mi", "cpu": "80m"}, {"memory": "6584Mi", "cpu": "3920m"}),
    ],
)
def test_v54_v56_al2023_from_facts_to_allocatable(
    name: str, pods: int, has_mib: int, reserved: dict[str, str], left: dict[str, str]
) -> None:
    build = Build.of(an_aws_node_class(family="AL2023"), None)
    capacity, allocatable = capacity_and_allocatable(a_record(name), build, DEFAULT_SETTINGS)
    assert (capacity["pods"], capacity["memory"]) == (pods, has_mib * MIB)
    kept = maths.kube_reserved(a_record(name), build, pods=pods)
    assert {key: kept[key] for key in reserved} == parse_resources(reserved)
    assert {key: allocatable[key] for key in left} == parse_resources(left)


def test_v55_arm_machines_keep_64_mib_more() -> None:
    assert maths.memory_capacity(a_record("m6g.large"), DEFAULT_SETTINGS) == 7518 * MIB


def test_v60_of_a_root_volume_of_20_gib_a_tenth_is_the_threshold_and_1_gib_is_reserved() -> None:
    disk = {"ephemeral-storage": 20 * GIB, "memory": 8 * GIB}
    assert maths.eviction_threshold(AL2, disk)["ephemeral-storage"] == 2147483648
    assert maths.kube_reserved(a_record("m5.large"), AL2, pods=29)["ephemeral-storage"] == GIB


def test_reserved_interfaces_cost_pods_but_not_the_memory_reserve() -> None:
    """Spec v1 V57."""
    allocatable = usable("m5.large", family="AL2023", settings=AwsSettings(reserved_enis=1))
    assert (allocatable["pods"], allocatable["memory"]) == (20, 6903 * MIB)


@pytest.mark.parametrize("family, max_pods, pods", [("AL2", None, 16), ("AL2", 10, 10), ("Bottlerocket", None, 58)])
def test_pods_per_core_caps_pods(family: str, max_pods: int | None, pods: int) -> None:
    """TV-53."""
    assert usable("c5.xlarge", a_kubelet(pods_per_core=4, max_pods=max_pods), family=family)["pods"] == pods


def test_zero_pods_per_core_is_no_cap() -> None:
    """§1.3."""
    assert usable("c5.xlarge", a_kubelet(pods_per_core=0))["pods"] == 58


@pytest.mark.parametrize("family, gib", [("AL2", 3), ("Bottlerocket", 1)])
def test_the_larger_of_hard_and_soft_memory_threshold_counts(family: str, gib: int) -> None:
    """TV-54."""
    kubelet = a_kubelet(hard={"memory.available": "1Gi"}, soft={"memory.available": "3Gi"})
    reserved_mib = 574 if family == "AL2" else 11 * 29 + 255
    assert usable("m5.large", kubelet, family=family)["memory"] == (7577 - reserved_mib) * MIB - gib * GIB


def test_a_threshold_of_100_percent_is_none() -> None:
    """TV-54; spec v1 V59."""
    assert usable("m5.large", a_kubelet(hard={"memory.available": "100%"}))["memory"] == (7577 - 574) * MIB


def test_soft_thresholds_of_a_node_class_do_not_lower_allocatable() -> None:
    """Spec v1 A-25: only a Provisioner's count."""
    settings = a_kubelet(soft={"memory.available": "3Gi"})
    build = Build.of(an_aws_node_class(family="AL2023", kubelet=settings), None)
    assert capacity_and_allocatable(a_record(), build, DEFAULT_SETTINGS)[1]["memory"] == 6903 * MIB


def test_a_pools_kubelet_settings_go_before_the_node_classs() -> None:
    node_class = an_aws_node_class(kubelet=a_kubelet(max_pods=7))
    assert Build.of(node_class, a_kubelet(max_pods=5)).kubelet.max_pods == 5
    assert Build.of(node_class, None).kubelet.max_pods == 7


def test_a_hard_threshold_in_bytes_is_taken_as_is() -> None:
    """TV-55."""
    assert usable("m5.large", a_kubelet(hard={"memory.available": "500Mi"}))["memory"] == 6503 * MIB


def test_a_percentage_is_of_the_memory_after_overhead_rounded_up_to_bytes() -> None:
    """Quirk 7: c5.xlarge 5 % is 397253018."""
    allocatable = usable("c5.xlarge", a_kubelet(hard={"memory.available": "5%"}))
    assert allocatable["memory"] == (7577 - 893) * MIB - 397253018


def test_signals_other_than_memory_and_nodefs_change_nothing() -> None:
    """AWS-26."""
    kubelet = a_kubelet(hard={"imagefs.available": "50%", "nodefs.inodesFree": "50%", "pid.available": "50%"})
    assert usable("m5.large", kubelet) == usable("m5.large")


def test_user_reserves_replace_the_defaults_one_by_one() -> None:
    """AWS-24, AWS-25."""
    allocatable = usable("m5.large", a_kubelet(kube={"cpu": "500m"}, system={"memory": "1Gi", "pid": "100"}))
    assert allocatable == parse_resources(
        {"cpu": "1500m", "memory": f"{6903 - 1024}Mi", "ephemeral-storage": "17Gi", "pods": 29}
    )


@pytest.mark.parametrize(
    "family, disks, gib",
    [
        ("AL2", {"/dev/xvda": 100}, 89),
        ("AL2", {"/dev/sdb": 100}, 17),
        ("Bottlerocket", {"/dev/xvda": 4, "/dev/xvdb": 100}, 89),
        ("Ubuntu", {"/dev/sda1": 100}, 89),
        ("Custom", {"/dev/xvda": 10, "/dev/xvdc": 100}, 89),
        ("Custom", {}, 17),
        ("Windows2022", {}, 44),
    ],
)
def test_storage_is_the_familys_data_device(family: str, disks: dict[str, int], gib: int) -> None:
    """TV-56, AWS-27: less 1 GiB reserved and 10 % threshold."""
    assert usable("m5.large", family=family, disks=disks)["ephemeral-storage"] == gib * GIB


def test_raid0_makes_local_disks_the_storage() -> None:
    """Spec v1 A-22: decimal gigabytes."""
    build = Build.of(an_aws_node_class(family="AL2023", instance_store_policy="RAID0"), None)
    assert maths.storage_capacity(a_record("g4dn.xlarge"), build) == 125 * 10**9
    assert maths.storage_capacity(a_record("m5.large"), build) == 20 * GIB


def test_windows_nodes_have_pod_addresses_and_no_interface_limit() -> None:
    """AWS-22, AWS-28."""
    allocatable = usable("m5.large", family="Windows2022")
    assert (allocatable["pods"], allocatable["vpc.amazonaws.com/PrivateIPv4Address"]) == (110, 9)


def test_without_interface_limit_110_pods_fit() -> None:
    """AWS-22."""
    assert usable("m5.large", settings=AwsSettings(eni_limited_pod_density=False))["pods"] == 110


@pytest.mark.parametrize("family, volumes", [("AL2", 26), ("Bottlerocket", 25)])
def test_a_nodes_own_volumes_take_attachment_slots(family: str, volumes: int) -> None:
    build = Build.of(an_aws_node_class(family=family), None)
    assert maths.volume_limits(a_record("m5.large"), build) == {"ebs.csi.aws.com": volumes}


def test_a_type_whose_attachments_are_unknown_is_not_limited() -> None:
    assert maths.volume_limits(a_record("p3.8xlarge"), AL2) == {}


@given(st.sampled_from(sorted(load_aws_catalog().records)), st.sampled_from(["AL2", "AL2023", "Bottlerocket"]))
def test_allocatable_never_exceeds_capacity_and_covers_the_same_resources(name: str, family: str) -> None:
    has, left = capacity_and_allocatable(
        a_record(name), Build.of(an_aws_node_class(family=family), SEED_KUBELET), DEFAULT_SETTINGS
    )
    assert has.keys() == left.keys()
    assert all(left[resource] <= has[resource] for resource in has)
