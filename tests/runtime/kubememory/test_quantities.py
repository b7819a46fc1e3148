"""How quantities are written back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karpenter.model.quantity import parse_quantity
from karpenter.runtime.kubememory.schema.quantities import canonical


@pytest.mark.parametrize(
    "written, kept",
    [
        (1, "1"),
        (0.5, "500m"),
        ("0.5", "500m"),
        ("1000m", "1"),
        ("1500m", "1500m"),
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("1000Mi", "1000Mi"),
        ("1000k", "1M"),
        ("1e3", "1e3"),
        ("12e6", "12e6"),
        ("0", "0"),
        ("0Gi", "0"),
        ("-1", "-1"),
        ("1E", "1E"),
        ("100n", "100n"),
    ],
)
def test_a_quantity_gets_the_largest_suffix_of_its_family(written, kept) -> None:
    assert canonical(written) == kept


@given(st.integers(-(10**6), 10**6), st.sampled_from(["", "m", "k", "M", "G", "Ki", "Mi", "Gi", "e3", "n"]))
def test_the_canonical_form_is_the_same_quantity_and_final(number, suffix) -> None:
    kept = canonical(f"{number}{suffix}")
    assert parse_quantity(kept) == parse_quantity(f"{number}{suffix}")
    assert canonical(kept) == kept
