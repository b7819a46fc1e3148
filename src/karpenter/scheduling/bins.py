"""The working state of a solve: places with what is left in them, existing nodes first, then machines to launch.

One class meets all bins at once: `fitting` says how many copies each would take, `fill` puts them, tightest bin first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from karpenter.scheduling.catalog import Bools, Floats, Ints
from karpenter.scheduling.columns import Columns
from karpenter.scheduling.constraint import Constraint
from karpenter.scheduling.items import Item
from karpenter.scheduling.nodes import Nodes
from karpenter.scheduling.rules import NodeRule
from karpenter.scheduling.sharing import SharedVolumes

_NO_CODES: frozenset[bytes] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """Copies of one class in one bin, and what they were placed as."""

    item: Item
    count: int


class Bins:
    """B places: the nodes, then the machines opened so far. Arrays grow; the first `size` rows count."""

    def __init__(
        self,
        nodes: Nodes,
        columns: Columns,
        room: Floats,
        *,
        constraints: Sequence[Constraint],
        volumes: SharedVolumes,
    ) -> None:
        self.nodes = nodes
        self.columns = columns
        self.size = len(nodes)
        self.shares: list[list[Share]] = [[] for _ in nodes.views]
        self.version: list[int] = [0] * self.size
        """Rises with every change of a bin, by row."""
        self._constraints = constraints
        self._volumes = volumes
        self._room = room
        self._column = np.full(self.size, -1, dtype=np.int64)
        self._places = np.zeros((self.size, *columns.price.shape[1:]), dtype=np.bool_)
        self._first_new = self.size
        self._codes: dict[int, frozenset[bytes]] = {}
        """What the pods of a machine leave of columns that minValues bind."""
        self._rules: dict[int, frozenset[NodeRule]] = {}
        self._rule_sets: dict[frozenset[NodeRule], frozenset[NodeRule]] = {}

    @property
    def room(self) -> Floats:
        """What is left in each bin (B×R)."""
        return self._room[: self.size]

    @property
    def column(self) -> Ints:
        """The column of each opened machine, -1 for a node (B)."""
        return self._column[: self.size]

    @property
    def places(self) -> Bools:
        """The zones and capacity types still open to each opened machine (B×Z×K)."""
        return self._places[: self.size]

    @property
    def known(self) -> slice:
        """The rows of nodes."""
        return slice(0, self._first_new)

    @property
    def new(self) -> slice:
        """The rows of opened machines, closed ones included."""
        return slice(self._first_new, self.size)

    def opened(self) -> list[int]:
        """Return the rows of machines to launch."""
        # What is closed has less than no room.
        return (self._first_new + np.flatnonzero(self._room[self._first_new : self.size, 0] >= 0)).tolist()

    def fitting(self, item: Item, rows: slice) -> Ints:
        """Return how many copies of the item each bin of these rows takes now."""
        room = self._room[: self.size][rows]
        if item.cls.shared:
            room = room - self._volumes.charges(item, rows)
        asked = np.flatnonzero(item.request)
        copies = np.floor(room[:, asked] / item.request[asked]).min(axis=1, initial=float(item.left))
        if item.cls.shared:
            # What a shared volume takes is not in the request.
            copies[np.any(room < 0, axis=1)] = 0
        for constraint in self._constraints:
            cap = constraint.room(item, rows)
            if cap is not None:
                np.minimum(copies, cap, out=copies)
        return np.where(self._admits(item.rule, rows), np.maximum(copies, 0), 0).astype(np.int64)

    def machines(self) -> tuple[Ints, Bools]:
        """Return the columns of the opened machines with the places open to them (n, n×Z×K), equal ones once."""
        alike = {(int(self._column[row]), self._places[row].tobytes()): row for row in self.opened()}
        distinct = np.array(list(alike.values()), dtype=np.int64)
        return self._column[distinct], self._places[distinct]

    def _admits(self, rule: NodeRule, rows: slice) -> Bools:
        column = self.column[rows]
        admits = np.zeros(len(column), dtype=np.bool_)
        is_node = column < 0
        first = rows.start or 0
        known = int(is_node.sum())
        admits[:known] = self.nodes.row(rule)[first : first + known]
        if known < len(column):
            open_places = self.places[rows][known:] & self.columns.row(rule)[column[known:]]
            admits[known:] = open_places.any(axis=(1, 2))
        if self.columns.peers:
            mine = {self.columns.code(rule)}
            for at in np.flatnonzero(admits).tolist():
                codes = self._codes.get(first + at)
                admits[at] = codes is None or self.columns.nested(codes | mine)
        return admits

    def fill(self, item: Item, rows: slice, scale: Floats) -> int:
        """Put copies of the item into bins of these rows and return how many found room.

        Bins that are kept are in groups (initialized nodes, claims in flight, machines to launch); within a group the
        one with the least room, weighted by `scale` (R), is filled first.
        """
        if rows.start == rows.stop:
            return 0
        copies = self.fitting(item, rows)
        candidates = np.flatnonzero(copies)
        if not len(candidates):
            return 0
        first = rows.start or 0
        slack = (self.room[rows][candidates] * scale).sum(axis=1)
        order = candidates[np.lexsort((candidates, slack, self._group(candidates + first)))]
        before = item.left
        for at in order:
            if not item.left:
                break
            self.put(int(at) + first, item, min(item.left, int(copies[at])))
        return before - item.left

    def _group(self, rows: Ints) -> Ints:
        waiting = np.array([not view.is_initialized for view in self.nodes.views], dtype=np.int64)
        return np.where(rows < len(self.nodes), np.append(waiting, 2)[np.minimum(rows, len(self.nodes))], 2)

    def put(self, row: int, item: Item, count: int) -> None:
        """Put copies into one bin that has room for them."""
        self._room[row] -= count * item.request
        if item.cls.shared:
            self._room[row] -= self._volumes.put(row, item, count)
        last = self.shares[row][-1:]
        # Narrowing the places by a rule again changes nothing; mostly, copies of one rule come in a row.
        if row >= self._first_new and not (last and last[0].item.rule is item.rule):
            self._places[row] &= self.columns.row(item.rule)[self._column[row]]
            if self.columns.peers and int(self._column[row]) in self.columns.peers:
                self._codes[row] = self._codes.get(row, _NO_CODES) | {self.columns.code(item.rule)}
        for constraint in self._constraints:
            constraint.put(row, item, count)
        self.shares[row].append(Share(item, count))
        self.version[row] += 1
        self._rules.pop(row, None)
        item.left -= count

    def take(self, row: int, share: Share, count: int) -> None:
        """Take copies out of a bin again. An opened machine that is empty then is closed."""
        self._room[row] += count * share.item.request
        if share.item.cls.shared:
            self._room[row] -= self._volumes.put(row, share.item, -count)
        for constraint in self._constraints:
            constraint.put(row, share.item, -count)
        at = self.shares[row].index(share)
        self.shares[row][at : at + 1] = [Share(share.item, share.count - count)] if share.count > count else []
        self.version[row] += 1
        self._rules.pop(row, None)
        if self._column[row] >= 0 and not self.shares[row]:
            self.close(row)

    def close(self, row: int) -> None:
        """Give an opened machine up: it takes nothing any more."""
        self._room[row] = -1.0
        for constraint in self._constraints:
            constraint.closed(row)

    def lend(self, amounts: Floats) -> None:
        """Add to the room of the nodes (B×R) what only some pods may use; negative amounts take it back."""
        self._room[self.known] += amounts

    def open(self, column: int, places: Bools) -> int:
        """Open a machine of a column that may go to these zones and capacity types (Z×K); return its row."""
        if self.size == len(self._room):
            self._grow(max(64, self.size))
        row = self.size
        self._room[row] = self.columns.room[column]
        self._column[row] = column
        self._places[row] = places
        self.shares.append([])
        self.version.append(0)
        self.size += 1
        return row

    def load(self, row: int) -> Floats:
        """Return what pods take of an opened machine (R)."""
        return np.asarray(self.columns.room[self._column[row]] - self._room[row])

    def rules(self, row: int) -> frozenset[NodeRule]:
        """Return the rules that the pods of a bin came under."""
        found = self._rules.get(row)
        if found is None:
            stated = frozenset({id(share.item.rule): share.item.rule for share in self.shares[row]}.values())
            # Bins of the same rules have one set, which is hashed once.
            found = self._rules[row] = self._rule_sets.setdefault(stated, stated)
        return found

    def retype(self, row: int, column: int, places: Bools) -> None:
        """Make an opened machine one of another column, which holds its load."""
        load = self.load(row)
        self.version[row] += 1
        self._column[row] = column
        self._room[row] = self.columns.room[column] - load
        self._places[row] = places
        if column in self.columns.peers:
            self._codes[row] = frozenset(map(self.columns.code, self.rules(row)))

    def _grow(self, more: int) -> None:
        self._room = np.concatenate((self._room, np.zeros((more, self._room.shape[1]))))
        self._column = np.concatenate((self._column, np.full(more, -1, dtype=np.int64)))
        self._places = np.concatenate((self._places, np.zeros((more, *self._places.shape[1:]), dtype=np.bool_)))
