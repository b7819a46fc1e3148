"""Open machines for what found no room: items become shapes, columns become offers, patterns become bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from karpenter.scheduling.bins import Bins
from karpenter.scheduling.catalog import Bools, Floats, Ints
from karpenter.scheduling.hosts import HostRules
from karpenter.scheduling.items import Item
from karpenter.scheduling.limits import Budget
from karpenter.scheduling.offers import Offers
from karpenter.scheduling.packing.pack import pack
from karpenter.scheduling.packing.problem import Packing, Pattern
from karpenter.scheduling.rails.size import Sizes
from karpenter.scheduling.reporter import Progress, unheard
from karpenter.scheduling.rules import NodeRule
from karpenter.scheduling.shapes import Shape, Shapes
from karpenter.scheduling.stating import fitting, stated

_MOST_TURNS: Final = 8
"""How often what host rules kept out of its pattern is packed anew."""


@dataclass(frozen=True, slots=True)
class _Packed:
    """Items packed into offers, and what the positions in the packing stand for."""

    shapes: Shapes
    offers: Offers
    packing: Packing


@dataclass(frozen=True, slots=True)
class Launcher:
    """Opens machines in a state of bins, under limits and host rules."""

    bins: Bins
    budget: Budget
    hosts: HostRules
    sizes: Sizes
    node_fee: float
    """USD per hour that a machine costs beside its price."""
    rounds: int
    """Effort beyond the first answer."""
    progress: Progress = unheard

    def launch(self, items: Sequence[Item], columns: Ints, scale: Floats) -> None:
        """Open machines of these columns for as many copies of the items as can be; the others stay in `left`."""
        for _ in range(_MOST_TURNS):
            waiting = [item for item in items if item.left]
            before = sum(item.left for item in waiting)
            self._pack(waiting, columns[self.budget.affords()[columns]], scale)
            waiting = [item for item in waiting if item.left]
            # Patterns know the simple host rules only; what the others kept out may fit beside something else.
            for item in waiting:
                self.bins.fill(item, self.bins.new, scale)
            if sum(item.left for item in waiting) in {0, before}:
                return

    def _pack(self, items: Sequence[Item], columns: Ints, scale: Floats) -> None:
        groups = self._apart(items, columns)
        priorities = sorted({item.cls.priority for item in items}, reverse=True)
        if len(groups) > 1 and len(priorities) > 1 and len(self.budget.left):
            # What one group opens, limits may take from the others: the important pods of all groups come first.
            for priority in priorities:
                self._pack([item for item in items if item.cls.priority == priority], columns, scale)
            return
        for group, sized in groups:
            for item in group if len(groups) > 1 else ():
                self.bins.fill(item, self.bins.new, scale)
            self._pack_together([item for item in group if item.left], sized, scale, wider=columns)

    def _apart(self, items: Sequence[Item], columns: Ints) -> list[tuple[list[Item], Ints]]:
        """Return the items in groups with the columns to be opened for them, the largest first.

        Those who need larger machines come before the others, who then find room on these. MinValues bind pods of
        different rules apart.
        """
        known = self.bins.columns
        open_now = np.zeros(len(known), dtype=np.bool_)
        open_now[columns] = True
        is_bound = any(column in known.peers for column in columns.tolist()) if known.peers else False
        groups: dict[tuple[bytes, int], tuple[list[Item], Bools]] = {}
        masks: dict[tuple[NodeRule, bytes], Bools] = {}
        for item in items:
            key = item.rule, item.request.tobytes()
            if key not in masks:
                masks[key] = self.sizes.affordable(item, open_now)
            code = known.code(item.rule) if is_bound else b""
            groups.setdefault((code, id(masks[key])), ([], masks[key]))[0].append(item)
        largest = sorted(groups.values(), key=lambda group: -int(group[1].sum()))
        return [(group, columns[mask[columns]]) for group, mask in largest]

    def _pack_together(self, items: Sequence[Item], columns: Ints, scale: Floats, *, wider: Ints) -> None:
        """Pack items that may share machines; when limits keep some from a place, rails that would let them in give way
        (`wider`)."""
        packed = self._packed(items, columns)
        if packed is None:
            return
        if packed.packing.unplaced and len(wider) > len(columns):
            free = self._packed(items, wider)
            packed = min([packed, *([free] if free else [])], key=lambda each: each.packing.unplaced)
        priorities = sorted({item.cls.priority for item in items}, reverse=True)
        if packed.packing.unplaced and len(priorities) > 1:
            # Limits leave somebody pending: the important ones take what there is before the others are looked at.
            for priority in priorities:
                self._pack([item for item in items if item.cls.priority == priority], wider, scale)
            return
        for pattern in packed.packing.patterns:
            for _ in range(pattern.times):
                self._open(packed.shapes.members, pattern, packed.offers)

    def _packed(self, items: Sequence[Item], columns: Ints) -> _Packed | None:
        known, budget = self.bins.columns, self.budget
        fit = fitting(items, known, columns[budget.affords()[columns]])
        if not fit:
            return None
        told = stated(fit, known, columns, hosts=self.hosts)
        problem = replace(
            told.problem,
            price=told.problem.price * known.slowness[told.offers.column] + self.node_fee,
            charge=budget.charge[told.offers.column],
            budget=budget.left,
        )
        return _Packed(told.shapes, told.offers, pack(problem, rounds=self.rounds, progress=self.progress))

    def _open(self, shapes: Sequence[Shape], pattern: Pattern, offers: Offers) -> None:
        """Open one machine and fill it by the pattern, as far as host rules let copies be together."""
        column = int(offers.column[pattern.offer])
        row = self.bins.open(column, np.isfinite(self.bins.columns.price[column]))
        for at in np.flatnonzero(pattern.copies).tolist():
            self._fill(row, shapes[at], int(pattern.copies[at]))
        if self.bins.shares[row]:
            self.budget.take(column)
        else:
            self.bins.close(row)

    def _fill(self, row: int, shape: Shape, wanted: int) -> None:
        """Put so many copies of a shape on an opened machine, of whichever of its items get along there."""
        is_used_up = False
        for item in shape:
            count = min(wanted, item.left)
            if count and self.hosts.of(item):
                count = int(min(count, self.hosts.room_on(item, row)))
            if count and item.cls.shared:
                count = min(count, int(self.bins.fitting(item, slice(row, row + 1))[0]))
            if count:
                self.bins.put(row, item, count)
                wanted -= count
            is_used_up = is_used_up or not item.left
            if not wanted:
                break
        if is_used_up:
            # Thousands of machines are filled from these lists: nobody should have to pass over what is gone.
            shape[:] = [item for item in shape if item.left]
