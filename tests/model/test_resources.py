"""Arithmetic of resource lists."""

import pytest

from karpenter.model.resources import (
    add,
    fits,
    format_resources,
    maximum,
    parse_resources,
    shortages,
    subtract,
)


def test_cpu_is_read_in_thousandths_and_everything_else_in_base_units() -> None:
    assert parse_resources({"cpu": "1500m", "memory": "1Gi", "pods": 110, "nvidia.com/gpu": "2"}) == {
        "cpu": 1500,
        "memory": 2**30,
        "pods": 110,
        "nvidia.com/gpu": 2,
    }


def test_a_resource_that_is_no_quantity_is_named() -> None:
    with pytest.raises(ValueError, match="memory: '1GB' is not a quantity"):
        parse_resources({"cpu": "1", "memory": "1GB"})


def test_resources_are_printed_as_manifests_say_them_sorted_by_name() -> None:
    amounts = {"pods": 110, "memory": 2**30, "cpu": 100, "hugepages-2Mi": 2**21, "ephemeral-storage": 1000}
    assert format_resources(amounts) == {
        "cpu": "100m",
        "ephemeral-storage": "1000",
        "hugepages-2Mi": "2Mi",
        "memory": "1Gi",
        "pods": "110",
    }
    assert list(format_resources(amounts)) == sorted(amounts)


def test_sums_and_maxima_take_every_resource_of_every_side() -> None:
    assert add({"cpu": 1}, {"cpu": 2, "memory": 3}) == {"cpu": 3, "memory": 3}
    assert maximum({"cpu": 1}, {"cpu": 2, "memory": 3}) == {"cpu": 2, "memory": 3}
    assert subtract({"cpu": 1}, {"cpu": 2, "memory": 3}) == {"cpu": -1, "memory": -3}


def test_a_request_fits_when_nothing_is_missing() -> None:
    """SCH-11."""
    assert fits({"cpu": 2, "example.com/unknown": 0}, {"cpu": 2})
    assert not fits({"nvidia.com/gpu": 1}, {"cpu": 2})
    assert shortages({"cpu": 5, "memory": 1}, {"cpu": 2, "memory": 1}) == {"cpu": 3}


def test_nothing_fits_where_any_amount_is_negative() -> None:
    """SCH-11."""
    assert not fits({"cpu": 1}, {"cpu": 2, "memory": -1})
