"""Which items are alike for packing, and the host rules between them in the packing's own terms.

Few rules are kept exactly: items are alike when the same rules bind them. Where many rules meet many requests that
would make thousands of shapes, so items are alike when they play the same part, and the rules are a rule of thumb.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from karpenter.scheduling.catalog import Floats, Ints
from karpenter.scheduling.hosts import HostRules
from karpenter.scheduling.items import Item
from karpenter.scheduling.packing.groups import Group

Shape: TypeAlias = list[Item]
"""Items whose copies are alike for packing."""
_FEW_SHAPES: Final = 64
_MOST_OWNERS: Final = 3
"""Copies that state rules about others on one machine, when it is not looked at which: more seldom get along."""
_MOST_MEANT: Final = 5
"""Copies that such rules may mean, or that state one, on a machine with one that does."""


@dataclass(frozen=True, slots=True)
class Shapes:
    """S shapes and the rules between them, as a packing problem states them."""

    members: tuple[Shape, ...]
    clique: Ints
    """Position of the clique that each shape belongs to, -1 for none (S)."""
    most: Floats
    """Copies of a clique that one machine may hold, and infinity last."""
    groups: tuple[Group, ...]
    is_exact: bool
    """Whether the groups are the rules themselves; a rule of thumb otherwise."""


def shapes_of(items: Iterable[tuple[Item, Hashable]], hosts: HostRules) -> Shapes:
    """Return the shapes of these items; those of one shape have equal requests, and an equal second value."""
    known = list(items)
    exact = _alike(known, hosts.of)
    by_part = _alike(known, lambda item: (hosts.clique(item), hosts.part(item)))
    is_exact = len(exact) <= max(_FEW_SHAPES, len(by_part))
    members = exact if is_exact else by_part
    leaders = [shape[0] for shape in members]
    cliques = [hosts.clique(item) for item in leaders]
    names = sorted({clique for clique in cliques if clique is not None})
    return Shapes(
        members=tuple(members),
        clique=np.array([-1 if clique is None else names.index(clique) for clique in cliques], dtype=np.int64),
        most=np.array([*(float(cap) for _, cap in names), np.inf]),
        groups=tuple(_exact_groups(hosts, leaders) if is_exact else _rules_of_thumb(hosts, leaders)),
        is_exact=is_exact,
    )


def _alike(items: Sequence[tuple[Item, Hashable]], rules: Callable[[Item], Hashable]) -> list[Shape]:
    shapes: dict[Hashable, Shape] = {}
    for item, place in items:
        shapes.setdefault((item.request.tobytes(), place, rules(item)), []).append(item)
    return list(shapes.values())


def _exact_groups(hosts: HostRules, leaders: Sequence[Item]) -> Iterator[Group]:
    """Yield the rules that bind these items, but for those that are cliques; affinity to a host is none of them."""
    bound = [{tie.group: tie for tie in hosts.of(item)} for item in leaders]
    for at in sorted(set().union(*bound)):
        rule = hosts.groups[at]
        own = np.array([at in ties and ties[at].owner for ties in bound], dtype=np.bool_)
        meant = np.array([at in ties and ties[at].meant for ties in bound], dtype=np.bool_)
        is_clique = all(
            hosts.clique(item) == (at, rule.cap)
            for item, involved in zip(leaders, own | meant, strict=True)
            if involved
        )
        if rule.kind == "affinity" or is_clique or not own.any():
            continue
        if rule.kind == "spread":
            yield Group(own, meant, rule.cap)
            continue
        yield Group(own & meant, meant, 1)
        yield Group(own & ~meant, meant, 0)


def _rules_of_thumb(hosts: HostRules, leaders: Sequence[Item]) -> Iterator[Group]:
    own = np.array([hosts.part(item).keeps_off for item in leaders], dtype=np.bool_)
    meant = np.array([hosts.part(item).is_kept_off for item in leaders], dtype=np.bool_)
    yield Group(own, own, _MOST_OWNERS)
    yield Group(own, own | meant, _MOST_MEANT)
