"""Selector terms of an EC2NodeClass.

Source: spec v1 §1.8.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from karpenter.model.aws.nodeclass import SelectorTerm
from karpenter.model.reading import Reader

MOST_TERMS: Final = 30

ALIASES: Final = {
    "al2": "AL2",
    "al2023": "AL2023",
    "bottlerocket": "Bottlerocket",
    "windows2019": "Windows2019",
    "windows2022": "Windows2022",
    "windows2025": "Windows2025",
}
"""First part of an alias to the image family it means."""


def read_subnet_terms(spec: Reader) -> tuple[SelectorTerm, ...]:
    """Return `subnetSelectorTerms`: tags, or an id."""
    parts = _read_parts(spec, "subnetSelectorTerms", required=True)
    return tuple(_read_term(part, ("tags", "id"), alone=("id",), prefix="subnet") for part in parts)


def read_security_group_terms(spec: Reader) -> tuple[SelectorTerm, ...]:
    """Return `securityGroupSelectorTerms`: tags, an id, or a name."""
    parts = _read_parts(spec, "securityGroupSelectorTerms", required=True)
    return tuple(_read_term(part, ("tags", "id", "name"), alone=("id", "name"), prefix="sg") for part in parts)


def read_image_terms(spec: Reader) -> tuple[SelectorTerm, ...]:
    """Return `amiSelectorTerms`: tags, id, name, parameter, or one alias alone."""
    name = "amiSelectorTerms"
    parts = _read_parts(spec, name, required=True)
    choices = ("tags", "id", "name", "alias", "ssmParameter")
    terms = tuple(_read_image_term(part, choices) for part in parts)
    if len(parts) > 1 and any(part.has("alias") for part in parts):
        spec.fail(name, "has an alias and other terms", "an alias must be the only term")
    return terms


def _read_parts(spec: Reader, name: str, *, required: bool = False) -> list[Reader]:
    parts = spec.parts(name)
    if required and spec.value(name) in (None, []):
        spec.fail(name, "is required and must not be empty")
    if len(parts) > MOST_TERMS:
        spec.fail(name, f"has {len(parts)} terms", f"at most {MOST_TERMS}")
    return parts


def _read_term(part: Reader, choices: Collection[str], *, alone: Collection[str], prefix: str) -> SelectorTerm:
    term = SelectorTerm(
        tags=read_selector_tags(part), id=part.string("id"), name=part.string("name") if "name" in choices else ""
    )
    _check_choices(part, choices, alone)
    check_id(part, "id", prefix)
    return term


def _read_image_term(part: Reader, choices: Collection[str]) -> SelectorTerm:
    term = SelectorTerm(
        tags=read_selector_tags(part),
        id=part.string("id"),
        name=part.string("name"),
        owner=part.string("owner"),
        alias=part.string("alias"),
        ssm_parameter=part.string("ssmParameter"),
    )
    _check_choices(part, choices, ("id", "alias"))
    check_id(part, "id", "ami")
    if term.alias:
        part.check("alias", _alias_fault(term.alias))
    return term


def _check_choices(part: Reader, choices: Collection[str], alone: Collection[str]) -> None:
    given = [name for name in choices if part.has(name)]
    if not given:
        part.fail("", f"expected at least one of {', '.join(choices)}")
    others = [name for name in (*choices, "owner") if part.has(name)]
    for name in given:
        if name in alone and len(others) > 1:
            part.fail(name, f"{name} cannot be combined with other fields")


def check_id(part: Reader, name: str, prefix: str) -> None:
    """Note an id of the wrong kind."""
    text = part.text(name)
    if text is not None and not re.fullmatch(rf"{prefix}-[0-9a-z]+", text):
        part.fail(name, f"{text!r} is not an id such as {prefix}-0123456789abcdef0")


def read_selector_tags(part: Reader) -> dict[str, str]:
    """Return the tags of a term; keys and values must not be empty."""
    tags = part.texts("tags")
    for key, value in tags.items():
        if not key or not value:
            part.part("tags").fail(key, "keys and values must not be empty", 'write "*" for any value')
    return tags


def _alias_fault(alias: str) -> str | None:
    family, _, version = alias.partition("@")
    if family not in ALIASES or not version:
        return f"{alias!r} is not family@version with a family of {', '.join(ALIASES)}"
    if len(alias) > 30:
        return f"{alias!r} is longer than 30 characters"
    if family.startswith("windows") and version != "latest":
        return f"{alias!r}: Windows has only the version latest"
    return None


def check_reservation_terms(spec: Reader) -> None:
    """Note what is wrong with `capacityReservationSelectorTerms`."""
    for part in _read_parts(spec, "capacityReservationSelectorTerms"):
        read_selector_tags(part)
        check_id(part, "id", "cr")
        owner = part.text("ownerID")
        if owner is not None and not re.fullmatch(r"[0-9]{12}", owner):
            part.fail("ownerID", f"{owner!r} is no account number of 12 digits")
        part.choice("instanceMatchCriteria", ("open", "targeted"))
        _check_choices(part, ("tags", "id", "instanceMatchCriteria"), ("id",))
        if part.has("id") and part.has("ownerID"):
            part.fail("id", "id cannot be combined with other fields")


def check_placement_group(spec: Reader) -> None:
    """Note what is wrong with `placementGroupSelector`: exactly one of name and id."""
    group = spec.part("placementGroupSelector")
    group.string("name")
    check_id(group, "id", "pg")
    if spec.has("placementGroupSelector") and group.has("name") == group.has("id"):
        group.fail("", "expected exactly one of name and id")
