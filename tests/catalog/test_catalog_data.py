"""The data files of the simulated cloud say what the v1alpha5 specification and EC2 say (ids: spec rules)."""

import gzip
import hashlib
import json
from importlib.resources import files
from typing import Any

import pytest

CATALOG = files("karpenter.catalog")
EC2: dict[str, Any] = json.loads(gzip.decompress(CATALOG.joinpath("aws-instance-types.json.gz").read_bytes()))
TYPES: dict[str, dict[str, Any]] = EC2["types"]
PRICES: dict[str, Any] = json.loads(CATALOG.joinpath("aws-prices.json").read_bytes())
IMAGES: list[dict[str, Any]] = json.loads(CATALOG.joinpath("aws-images.json").read_bytes())["images"]


def on_demand_price(name: str) -> float | None:
    if name in PRICES["types"]:
        return PRICES["types"][name]
    family = PRICES["families"].get(name.partition(".")[0])
    if family is None:
        return None
    size = (
        family["perVcpu"] * TYPES[name]["cpu"] if "perVcpu" in family else family["perGib"] * TYPES[name]["mem"] / 1024
    )
    return round(size, family.get("digits", 5))


def test_the_catalogue_is_ec2s_and_no_larger() -> None:
    assert len(TYPES) == 1408
    assert sum("retired" in record for record in TYPES.values()) == 24
    assert sum("us-west-2" in record["zones"] for record in TYPES.values()) == 1369
    assert list(TYPES) == sorted(TYPES)


@pytest.mark.parametrize(
    "name", ["t3.micro", "m5.large", "m7g.medium", "p4d.24xlarge", "trn1.32xlarge", "u-9tb1.112xlarge"]
)
def test_every_shape_of_name_is_there(name: str) -> None:
    assert name in TYPES


@pytest.mark.parametrize("name", ["mac1.metal", "mac2.metal"])
def test_macs_are_not_there(name: str) -> None:
    assert name not in TYPES


def test_every_type_is_offered_in_a_known_zone() -> None:
    for name, record in TYPES.items():
        assert record["zones"], name
        for region, letters in record["zones"].items():
            assert letters, name
            assert set(letters) <= set(EC2["regions"][region]), name
    assert list(EC2["regions"]["us-west-2"]) == ["a", "b", "c", "d"]


def test_some_types_are_not_offered_everywhere() -> None:
    assert TYPES["m5.large"]["zones"]["us-west-2"] == "abcd"
    assert TYPES["c4.large"]["zones"]["us-west-2"] == "abc"


def test_required_facts_are_always_present() -> None:
    for name, record in TYPES.items():
        assert {"cpu", "mem", "arch", "hyp", "use", "eni", "eniAll", "ip", "zones"} <= record.keys(), name
        assert record["arch"] in {"amd64", "arm64"}, name
        assert record["hyp"] in {"nitro", "xen", ""}, name
        assert record["use"] in (["on-demand", "spot"], ["on-demand"]), name
        assert 1 <= record["eni"] <= record["eniAll"], name
        assert min(record["cpu"], record["mem"], record["ip"]) >= 1, name


@pytest.mark.parametrize(
    "name,enis,addresses,pods",
    [
        ("t3.micro", 2, 2, 4),
        ("t3.small", 3, 4, 11),
        ("t3.medium", 3, 6, 17),
        ("m5.large", 3, 10, 29),
        ("c5.large", 3, 10, 29),
        ("r5.large", 3, 10, 29),
        ("c5.xlarge", 4, 15, 58),
        ("m5.xlarge", 4, 15, 58),
        ("m5.2xlarge", 4, 15, 58),
        ("m5.4xlarge", 8, 30, 234),
        ("c5.4xlarge", 8, 30, 234),
        ("m5.24xlarge", 15, 50, 737),
        ("dl1.24xlarge", 15, 50, 737),
    ],
)
def test_aws_23_interfaces_limit_pods(name: str, enis: int, addresses: int, pods: int) -> None:
    record = TYPES[name]
    assert (record["eni"], record["ip"]) == (enis, addresses)
    assert record["eni"] * (record["ip"] - 1) + 2 == pods


def test_aws_23_only_the_default_network_card_counts() -> None:
    assert (TYPES["p4d.24xlarge"]["eni"], TYPES["p4d.24xlarge"]["eniAll"]) == (15, 60)
    assert (TYPES["c6in.32xlarge"]["eni"], TYPES["c6in.32xlarge"]["eniAll"]) == (8, 16)


@pytest.mark.parametrize(
    "name,cpu,memory_mib,arch",
    [
        ("m5.xlarge", 4, 16384, "amd64"),
        ("m6g.large", 2, 8192, "arm64"),
        ("c5.9xlarge", 36, 73728, "amd64"),
        ("t1.micro", 1, 627, "amd64"),
    ],
)
def test_sizes(name: str, cpu: int, memory_mib: int, arch: str) -> None:
    record = TYPES[name]
    assert (record["cpu"], record["mem"], record["arch"]) == (cpu, memory_mib, arch)


def test_aws_13_bare_metal_has_an_empty_hypervisor() -> None:
    assert TYPES["m5.metal"]["hyp"] == ""
    assert {name for name, record in TYPES.items() if record.get("metal")} == {
        name for name, record in TYPES.items() if record["hyp"] == ""
    }
    assert TYPES["m5.large"]["hyp"] == "nitro"
    assert TYPES["p3.8xlarge"]["hyp"] == "xen"


@pytest.mark.parametrize(
    "name,gpu",
    [
        ("g4dn.xlarge", {"name": "T4", "maker": "NVIDIA", "count": 1, "mem": 16384}),
        ("p3.8xlarge", {"name": "V100", "maker": "NVIDIA", "count": 4, "mem": 16384}),
        ("dl1.24xlarge", {"name": "Gaudi HL-205", "maker": "Habana", "count": 8, "mem": 32768}),
        ("g4ad.xlarge", {"name": "Radeon Pro V520", "maker": "AMD", "count": 1, "mem": 8192}),
    ],
)
def test_aws_28_gpus(name: str, gpu: dict[str, object]) -> None:
    assert TYPES[name]["gpu"] == [gpu]
    assert "acc" not in TYPES[name]


@pytest.mark.parametrize("name,count,device", [("inf1.2xlarge", 1, "Inferentia"), ("inf1.24xlarge", 16, "Inferentia")])
def test_aws_28_neuron_devices(name: str, count: int, device: str) -> None:
    assert [(a["name"], a["maker"], a["count"]) for a in TYPES[name]["acc"]] == [(device, "AWS", count)]


@pytest.mark.parametrize("name,count", [("trn1.2xlarge", 1), ("trn1.32xlarge", 16), ("trn1n.32xlarge", 16)])
def test_aws_14_trainium_was_called_inferentia(name: str, count: int) -> None:
    assert [(a["name"], a["v1alpha5Name"], a["count"]) for a in TYPES[name]["acc"]] == [
        ("Trainium", "Inferentia", count)
    ]


@pytest.mark.parametrize(
    "name,gigabytes", [("g4dn.xlarge", 125), ("m5d.large", 75), ("m5.large", None), ("d2.xlarge", None)]
)
def test_only_nvme_disks_count_as_local_storage(name: str, gigabytes: int | None) -> None:
    assert TYPES[name].get("nvme") == gigabytes


@pytest.mark.parametrize(
    "name,mbps", [("m5.large", 750), ("p4d.24xlarge", 400_000), ("c6in.32xlarge", 200_000), ("c4.large", None)]
)
def test_network_bandwidth_is_the_baseline(name: str, mbps: int | None) -> None:
    assert TYPES[name].get("net") == mbps


@pytest.mark.parametrize(
    "name,limit", [("m5.large", 9), ("m5.xlarge", 18), ("m5.4xlarge", 54), ("m5.24xlarge", 107), ("t3.large", None)]
)
def test_aws_28_branch_interfaces(name: str, limit: int | None) -> None:
    assert TYPES[name].get("podEni") == limit


def test_volumes_share_slots_with_interfaces_on_older_nitro() -> None:
    assert (TYPES["m5.large"]["ebs"], TYPES["m5.large"]["ebsShared"]) == (27, True)
    assert (TYPES["m7i.large"]["ebs"], "ebsShared" in TYPES["m7i.large"]) == (32, False)
    assert {name for name, record in TYPES.items() if "ebs" not in record} == {
        name for name, record in TYPES.items() if record.get("retired")
    }


@pytest.mark.parametrize(
    "name,price",
    [
        ("c6g.xlarge", 0.136),
        ("c7g.xlarge", 0.145),
        ("c6a.xlarge", 0.153),
        ("c6gd.xlarge", 0.1536),
        ("c5a.xlarge", 0.154),
        ("m6g.xlarge", 0.154),
        ("m7g.xlarge", 0.1632),
        ("c5.xlarge", 0.17),
        ("c6i.xlarge", 0.17),
        ("m5a.xlarge", 0.172),
        ("m5.xlarge", 0.192),
        ("r5.xlarge", 0.252),
        ("m5.large", 0.096),
        ("t3.micro", 0.0104),
        ("g4dn.xlarge", 0.526),
        ("p3.8xlarge", 12.24),
        ("c6g.metal", 2.3066),
        ("c7gd.12xlarge", 2.1773),
    ],
)
def test_aws_32_list_prices_are_exact(name: str, price: float) -> None:
    assert on_demand_price(name) == price


def test_few_types_are_without_a_price() -> None:
    unpriced = [name for name in TYPES if on_demand_price(name) is None]
    assert len(unpriced) == 44
    assert {name.partition(".")[0] for name in unpriced} == {
        "dl2q", "hpc6a", "hpc6id", "hpc7a", "hpc8a", "p5e", "r9g", "r9gd", "t8i", "trn2", "x8aedz",
    }  # fmt: skip


def test_every_price_row_is_used() -> None:
    assert PRICES["families"].keys() == {name.partition(".")[0] for name in TYPES if on_demand_price(name) is not None}
    assert PRICES["types"].keys() <= TYPES.keys()


def test_spot_starts_at_a_third_of_the_price() -> None:
    assert PRICES["spotBaseRatio"] == {"min": 0.3, "max": 0.45}


def test_image_ids_depend_on_the_name_alone() -> None:
    for image in IMAGES:
        assert image["id"] == "ami-0" + hashlib.sha256(image["name"].encode()).hexdigest()[:16]
    assert len({image["id"] for image in IMAGES}) == len(IMAGES) == 28


def test_every_image_has_two_generations_behind_one_parameter() -> None:
    by_parameter: dict[str, list[dict[str, Any]]] = {}
    for image in IMAGES:
        by_parameter.setdefault(image["ssm"], []).append(image)
    for older, newest in by_parameter.values():
        assert (older["generation"], newest["generation"]) == (1, 2)
        assert older["created"] < newest["created"]
        assert (older["family"], older["variant"], older["arch"]) == (
            newest["family"],
            newest["variant"],
            newest["arch"],
        )


def test_families_cover_both_architectures() -> None:
    standard = {(image["family"], image["arch"]) for image in IMAGES if image["variant"] == "standard"}
    assert standard == {(f, arch) for f in ("AL2", "AL2023", "Bottlerocket", "Ubuntu") for arch in ("amd64", "arm64")}


def test_section_3_8_parameters_resolve() -> None:
    parameters = {image["ssm"] for image in IMAGES}
    assert {
        "/aws/service/eks/optimized-ami/1.32/amazon-linux-2/recommended/image_id",
        "/aws/service/eks/optimized-ami/1.32/amazon-linux-2-gpu/recommended/image_id",
        "/aws/service/eks/optimized-ami/1.32/amazon-linux-2-arm64/recommended/image_id",
        "/aws/service/bottlerocket/aws-k8s-1.32/arm64/latest/image_id",
        "/aws/service/bottlerocket/aws-k8s-1.32-nvidia/x86_64/latest/image_id",
        "/aws/service/canonical/ubuntu/eks/20.04/1.32/stable/current/arm64/hvm/ebs-gp2/ami-id",
        "/aws/service/eks/optimized-ami/1.32/amazon-linux-2023/x86_64/standard/recommended/image_id",
    } <= parameters
