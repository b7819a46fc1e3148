"""EC2's filters, ids and pages."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias, TypeVar

from karpenter.sim.ec2.backend import Params
from karpenter.sim.ec2.codec.messages import AwsError
from karpenter.sim.market.account import is_discoverable

T = TypeVar("T")
Facts: TypeAlias = Mapping[str, Sequence[str]]
"""What filters may ask for: filter name to all values that something has."""

_TAG: Final = "tag:"


def select(
    items: Iterable[T], params: Params, facts: Callable[[T], Facts], *, tags: Callable[[T], Mapping[str, str]]
) -> list[T]:
    """Return the items that all filters let pass: of the values of one filter any will do, `*` and `?` are wild.

    Raises:
        AwsError: nothing of the kind has such a filter.
    """
    filters = [(one["Name"], one.get("Values") or ()) for one in params.get("Filters") or ()]
    return [
        item
        for item in items
        if all(
            _has_tag(name, values, tags(item)) if name.startswith("tag") else _is_so(name, values, facts(item))
            for name, values in filters
        )
    ]


def no_tags(_: object) -> Mapping[str, str]:
    """Return the tags of what has none."""
    return {}


def _has_tag(name: str, values: Sequence[str], tags: Mapping[str, str]) -> bool:
    if name == "tag-key":
        return any(is_discoverable(value) or _any_like(value, tags) for value in values)
    key = name.removeprefix(_TAG)
    return is_discoverable(key) or (key in tags and any(_any_like(value, (tags[key],)) for value in values))


def _is_so(name: str, values: Sequence[str], facts: Facts) -> bool:
    if name not in facts:
        raise AwsError("InvalidParameterValue", f"The filter '{name}' is invalid")
    return any(_any_like(value, facts[name]) for value in values)


def _any_like(pattern: str, values: Iterable[str]) -> bool:
    if "*" not in pattern and "?" not in pattern:
        return pattern in values
    matcher = _matcher(pattern)
    return any(matcher.fullmatch(value) for value in values)


@lru_cache(maxsize=1024)
def _matcher(pattern: str) -> re.Pattern[str]:
    return re.compile(re.escape(pattern).replace(r"\*", ".*").replace(r"\?", "."), re.DOTALL)


def by_ids(items: Mapping[str, T], wanted: Sequence[str] | None, *, code: str, what: str) -> list[T]:
    """Return the items of the given ids, all when none is given. Raises AwsError for ids that are not there."""
    if not wanted:
        return list(items.values())
    missing = [identity for identity in wanted if identity not in items]
    if missing:
        plural = f"IDs '{', '.join(missing)}' do" if len(missing) > 1 else f"ID '{missing[0]}' does"
        raise AwsError(code, f"The {what} {plural} not exist")
    return [items[identity] for identity in wanted]


def page(items: Sequence[T], params: Params, *, key: str, most: int = 1000) -> tuple[list[T], dict[str, Any]]:
    """Return the page that is asked for, and the answer's `NextToken` if there is more. `key` salts the token."""
    start = _offset(params.get("NextToken"), key)
    end = start + min(int(params.get("MaxResults") or most), most)
    more = {"NextToken": base64.b64encode(f"{key}:{end}".encode()).decode()} if end < len(items) else {}
    return list(items[start:end]), more


def _offset(token: str | None, key: str) -> int:
    if not token:
        return 0
    try:
        kind, _, offset = base64.b64decode(token, validate=True).decode().partition(":")
        if kind == key:
            return int(offset)
    except ValueError:
        pass
    raise AwsError("InvalidNextToken", "The token that you provided is not valid")
