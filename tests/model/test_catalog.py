"""A catalogue of one's own, as `--catalog` takes it, and what is said about a wrong one."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from karpenter.model import labels
from karpenter.model.catalog import Catalog, decode_catalog, load_catalog
from karpenter.model.errors import ManifestError
from karpenter.model.instancetype import Offering


def a_place(zone: str = "a", kind: str = "spot") -> list[dict[str, Any]]:
    return [
        {"key": labels.ZONE, "operator": "In", "values": [zone]},
        {"key": labels.CAPACITY_TYPE, "operator": "In", "values": [kind]},
    ]


def an_entry(name: str = "c.4", **fields: Any) -> dict[str, Any]:
    return {
        "name": name,
        "requirements": [{"key": labels.ARCH, "operator": "In", "values": ["amd64"]}],
        "offerings": [{"requirements": a_place(), "price": 0.1, "available": True}],
        "capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"},
        "overhead": {"kubeReserved": {"cpu": "100m"}, "systemReserved": {"memory": "1Gi"}},
        **fields,
    }


def decoded(*entries: dict[str, Any], **fields: Any) -> Catalog:
    return decode_catalog(json.dumps({"instanceTypes": entries, **fields}).encode(), subject="catalogue x.json")


def complaints(*entries: dict[str, Any], **fields: Any) -> list[str]:
    with pytest.raises(ManifestError) as caught:
        decoded(*entries, **fields)
    assert caught.value.subject == "catalogue x.json"
    return [str(error) for error in caught.value.errors]


def test_allocatable_is_taken_as_given() -> None:
    (found,) = decoded(an_entry(allocatable={"cpu": "3", "memory": "5Gi"})).instance_types
    assert found.allocatable == {"cpu": 3000, "memory": 5 * 2**30}
    assert found.capacity == {"cpu": 4000, "memory": 8 * 2**30, "pods": 110}


def test_allocatable_that_is_not_given_is_capacity_less_overhead() -> None:
    (found,) = decoded(an_entry()).instance_types
    assert found.allocatable == {"cpu": 3900, "memory": 7 * 2**30, "pods": 110}


def test_offerings_name_one_zone_and_capacity_type() -> None:
    offers = [{"requirements": a_place("b", "on-demand"), "price": 0.3, "available": False}]
    (found,) = decoded(an_entry(offerings=offers)).instance_types
    assert found.offerings == (Offering("b", "on-demand", 0.3, available=False),)


def test_a_type_is_known_by_its_name_and_its_available_places_when_it_does_not_say_so() -> None:
    (found,) = decoded(an_entry()).instance_types
    assert {key: set(requirement.values) for key, requirement in found.requirements.items()} == {
        labels.INSTANCE_TYPE: {"c.4"},
        labels.ARCH: {"amd64"},
        labels.ZONE: {"a"},
        labels.CAPACITY_TYPE: {"spot"},
    }


def test_well_known_labels_of_the_catalogue_are_those_that_are_not_so_anyway() -> None:
    assert decoded(an_entry(), wellKnownLabels=["size", labels.ZONE]).well_known == {"size"}


@pytest.mark.parametrize("name", ["catalog.json", "catalog.json.gz"])
def test_a_file_may_be_plain_or_gzipped(tmp_path: Path, name: str) -> None:
    raw = json.dumps({"name": "mine", "instanceTypes": [an_entry()]}).encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    assert load_catalog(path).name == "mine"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match=r"catalogue .*absent\.json: file: cannot be read: No such file"):
        load_catalog(tmp_path / "absent.json")


def test_a_file_that_is_not_gzipped_although_it_says_so_is_named(tmp_path: Path) -> None:
    path = tmp_path / "catalog.json.gz"
    path.write_bytes(b"{}")
    with pytest.raises(ManifestError, match=r"catalog\.json\.gz: file: cannot be read"):
        load_catalog(path)


def test_every_fault_is_told_at_once_with_type_and_field() -> None:
    bad = an_entry(
        "bad",
        capacity={"cpu": "four"},
        requirements=[{"key": "size", "operator": "Near", "values": ["x"]}],
        offerings=[{"requirements": a_place()[:1], "price": -1}],
    )
    assert complaints(an_entry(), bad) == [
        (
            "instanceTypes[1] (bad).requirements[0] (size): operator 'Near' is not one of "
            "In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte, Lte"
        ),
        (
            "instanceTypes[1] (bad).offerings[0].requirements: names 0 values of karpenter.sh/capacity-type "
            "(name exactly one with In)"
        ),
        "instanceTypes[1] (bad).offerings[0].price: -1.0 is not a price (give USD per hour, 0 or more)",
        "instanceTypes[1] (bad).capacity: cpu: 'four' is not a quantity such as 500m, 2 or 4Gi",
    ]


def test_two_types_may_not_share_a_name() -> None:
    assert complaints(an_entry(), an_entry()) == ["instanceTypes[1].name: 'c.4' is the name of instanceTypes[0] too"]


def test_a_type_may_not_deny_its_own_name() -> None:
    other = [{"key": labels.INSTANCE_TYPE, "operator": "In", "values": ["c.5"]}]
    assert complaints(an_entry(requirements=other)) == [
        (
            "instanceTypes[0] (c.4).requirements: node.kubernetes.io/instance-type In [c.5] "
            "does not allow the type's own name (add 'c.4')"
        )
    ]


def test_a_field_of_the_wrong_type_is_named() -> None:
    assert complaints(an_entry(), an_entry("bad", offerings=[{"price": "cheap"}])) == [
        "instanceTypes[1].offerings[0].price: expected `float`, got `str`"
    ]


def test_a_missing_field_is_named() -> None:
    assert complaints({"name": "c.4"}) == ["instanceTypes[0]: object missing required field `capacity`"]


def test_an_empty_catalogue_is_refused() -> None:
    assert complaints() == ["instanceTypes: is empty (list at least one instance type)"]


def test_text_that_is_not_json_is_refused() -> None:
    with pytest.raises(ManifestError, match=r"catalogue x\.json: file: input data was truncated"):
        decode_catalog(b"{", subject="catalogue x.json")
