"""JSONPath as column definitions use it: fields, escaped dots, indexes, `[*]`, and filters by equality."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeAlias

from karpenter.runtime.kubememory.records import Json

Step: TypeAlias = Callable[[list[Json]], list[Json]]

_STEP: Final = re.compile(
    r"""
    \.?\[\?\(@\.(?P<key>[^=!<>\s]+)\s*==\s*(?P<value>"[^"]*"|'[^']*'|[^)\s]+)\s*\)\]   # [?(@.type=="Ready")]
    | \.?\[(?P<index>-?\d+)\]                                                          # [0]
    | \.?\[['"](?P<quoted>[^'"]+)['"]\]                                                # ['a.b']
    | \.?(?P<all>\[\*\]|\*)                                                            # [*]
    | \.(?P<field>(?:\\.|[^.\[\\])+)                                                   # .name, with dots as \.
    """,
    re.VERBOSE,
)


def find(tree: Json, path: str) -> list[Json]:
    """Return what a path selects in an object, in order; nothing when it leads nowhere or cannot be read."""
    values = [tree]
    for step in _compiled(path):
        values = step(values)
    return values


@lru_cache(maxsize=512)
def _compiled(path: str) -> tuple[Step, ...]:
    text = path.strip().removeprefix("{").removesuffix("}").removeprefix("$")
    text = text if text.startswith((".", "[")) else f".{text}"
    steps: list[Step] = []
    position = 0
    while position < len(text):
        match = _STEP.match(text, position)
        if match is None:
            return (lambda _: [],)
        steps.append(_step(match))
        position = match.end()
    return tuple(steps)


def _step(match: re.Match[str]) -> Step:
    if (key := match["key"]) is not None:
        return _filter(key.replace("\\.", "."), match["value"].strip("'\""))
    if match["index"] is not None:
        return _index(int(match["index"]))
    if match["all"] is not None:
        return _everything
    return _field(match["quoted"] or re.sub(r"\\(.)", r"\1", match["field"]))


def _field(name: str) -> Step:
    return lambda values: [value[name] for value in values if isinstance(value, dict) and name in value]


def _index(place: int) -> Step:
    return lambda values: [
        value[place] for value in values if isinstance(value, list) and -len(value) <= place < len(value)
    ]


def _everything(values: list[Json]) -> list[Json]:
    found: list[Json] = []
    for value in values:
        if isinstance(value, dict):
            found += value.values()
        elif isinstance(value, list):
            found += value
    return found


def _filter(key: str, wanted: str) -> Step:
    def keep(values: list[Json]) -> list[Json]:
        items = [item for value in values if isinstance(value, list) for item in value]
        return [item for item in items if isinstance(item, dict) and _text(item.get(key)) == wanted]

    return keep


def _text(value: Json) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
