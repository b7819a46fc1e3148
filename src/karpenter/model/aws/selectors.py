"""Selectors of an AWSNodeTemplate, rewritten as terms: alternatives of which each names everything that must hold.

Source: spec v1alpha5 API-50, AWS-60, AWS-61; the cross product is that of architecture §2.
"""

from __future__ import annotations

import itertools
import math
import re
from typing import Final, Literal

from karpenter.model.aws.nodeclass import SelectorTerm
from karpenter.model.reading import Reader

Prefix = Literal["subnet", "sg", "ami"]

ID_KEYS: Final = ("aws-ids", "aws::ids")
NAME_KEY: Final = "aws::name"
OWNERS_KEY: Final = "aws::owners"
MOST_TERMS: Final = 1000


def read_selector(reader: Reader, name: str, prefix: Prefix) -> tuple[SelectorTerm, ...]:
    """Return the terms of a selector; empty when it is absent or wrong. `prefix` is that of the ids it may list.

    Comma-separated values are alternatives, so `{a: "1,2", b: "3"}` becomes two terms. Names and owners are an image's.
    """
    if not reader.has(name):
        return ()
    entries = reader.part(name)
    before = len(reader.errors)
    alternatives = {key: _read_values(entries, key, prefix) for key in entries.own_keys()}
    if not alternatives and len(reader.errors) == before:
        reader.fail(name, "must not be empty", "name at least one tag, or ids under aws-ids")
    for key in ID_KEYS:
        if key in alternatives and len(alternatives) > 1:
            entries.fail(key, f"{key} cannot be combined with other keys")
    combined = math.prod(len(values) for values in alternatives.values())
    if combined > MOST_TERMS:
        reader.fail(name, f"has {combined} combinations of values", f"at most {MOST_TERMS}")
    if len(reader.errors) > before:
        return ()
    keys = tuple(alternatives)
    combinations = itertools.product(*alternatives.values())
    return tuple(_term(dict(zip(keys, values, strict=True)), prefix) for values in combinations)


def _read_values(entries: Reader, key: str, prefix: Prefix) -> list[str]:
    text = entries.text(key)
    if text is None:
        return []
    values = [value.strip() for value in text.split(",")]
    if not key:
        entries.fail(key, "a key must not be empty")
    elif not all(values):
        entries.fail(key, "a value must not be empty", 'write "*" for any value')
    elif key in ID_KEYS:
        for value in values:
            if not re.search(rf"{prefix}-[0-9a-z]+", value):
                entries.fail(key, f"{value!r} is not an id such as {prefix}-0123456789abcdef0")
    return list(dict.fromkeys(values))


def _term(chosen: dict[str, str], prefix: Prefix) -> SelectorTerm:
    for key in ID_KEYS:
        if key in chosen:
            return SelectorTerm(id=chosen[key])
    is_image = prefix == "ami"
    special = {NAME_KEY, OWNERS_KEY} if is_image else set()
    return SelectorTerm(
        tags={key: value for key, value in chosen.items() if key not in special},
        name=chosen.get(NAME_KEY, "") if is_image else "",
        owner=chosen.get(OWNERS_KEY, "") if is_image else "",
    )
