"""Quantities: every suffix and exponent, exact, rounded away from zero."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karpenter.model.quantity import LARGEST, format_bytes, format_millis, millis, parse_quantity, whole

SUFFIXES = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
    "Ei": Fraction(2**60),
    "e3": Fraction(10**3),
    "E3": Fraction(10**3),
    "e+2": Fraction(100),
    "e-3": Fraction(1, 1000),
    "e0": Fraction(1),
}


@pytest.mark.parametrize("suffix, factor", SUFFIXES.items(), ids=list(SUFFIXES))
@pytest.mark.parametrize("number", ["1", "1.5", ".5", "3.", "+2", "-4", "0", "007"])
def test_every_suffix_and_exponent_has_its_exact_value(number: str, suffix: str, factor: Fraction) -> None:
    assert Fraction(parse_quantity(number + suffix)) == Fraction(Decimal(number)) * factor


@pytest.mark.parametrize(
    "text, thousandths",
    [("2", 2000), ("100m", 100), ("0.1", 100), ("0.0001", 1), ("1u", 1), ("1.0005", 1001), ("-0.0001", -1), (1, 1000)],
)
def test_cpu_counts_thousandths_rounded_away_from_zero(text: str | int, thousandths: int) -> None:
    assert millis(text) == thousandths


@pytest.mark.parametrize(
    "text, units",
    [
        ("1Ki", 1024),
        ("1.5Gi", 1610612736),
        ("128974848", 128974848),
        ("129e6", 129000000),
        ("129M", 129000000),
        ("123Mi", 128974848),
        ("100m", 1),
        ("1.1", 2),
        ("-1.1", -2),
        (0.5, 1),
    ],
)
def test_bytes_and_counts_are_whole_rounded_away_from_zero(text: str | float, units: int) -> None:
    assert whole(text) == units


@pytest.mark.parametrize(
    "text", ["", " 1", "1 ", "1Kb", "1ki", "1K", "m", "1.2.3", "--1", "0x10", "1e", "1e1.5", "one", "1_000", "٣", "inf"]
)
def test_what_is_no_quantity_is_refused_and_quoted(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity such as 500m, 2 or 4Gi"):
        parse_quantity(text)


def test_amounts_beyond_what_the_api_can_hold_are_cut_off() -> None:
    assert (whole("10Ei"), whole("-1e30"), millis("1e900")) == (LARGEST, -LARGEST, LARGEST)


def test_long_fractions_are_not_rounded_before_they_are_rounded_up() -> None:
    assert whole(f"1.{'0' * 60}1") == 2


@given(st.integers(0, 2**62))
def test_bytes_are_printed_so_that_they_read_the_same(amount: int) -> None:
    assert whole(format_bytes(amount)) == amount


@given(st.integers(0, 2**50))
def test_thousandths_are_printed_so_that_they_read_the_same(amount: int) -> None:
    assert millis(format_millis(amount)) == amount


def test_amounts_are_printed_with_the_largest_suffix_that_keeps_them_exact() -> None:
    assert [format_bytes(2 * 2**30), format_bytes(1536 * 2**20), format_bytes(1000), format_bytes(0)] == [
        "2Gi",
        "1536Mi",
        "1000",
        "0",
    ]
    assert [format_millis(2000), format_millis(1500)] == ["2", "1500m"]
