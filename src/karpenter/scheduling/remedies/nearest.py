"""The offerings of a pool that come nearest to serving pods, and what each of them lacks.

For every pool: what has to change whatever the machine (taints, labels), and then, offering by offering, which of the
pool's requirements keep it out. So the answer names a machine that exists, can be had and holds the pods.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from karpenter.model import labels
from karpenter.model.requirements import Conflict, Requirement, Requirements
from karpenter.model.resources import PODS, Resources
from karpenter.scheduling.amounts import shown
from karpenter.scheduling.catalog import PLACE_KEYS, Bools, table_of
from karpenter.scheduling.daemons import Daemon
from karpenter.scheduling.holding import Holding, places
from karpenter.scheduling.lanes import Lane, can_launch, type_mask
from karpenter.scheduling.remedies.change import Candidate, Proposal
from karpenter.scheduling.remedies.pods import lower_request, rename_label, tolerate
from karpenter.scheduling.remedies.pools import add_label, allow
from karpenter.scheduling.rules import NodeRule
from karpenter.scheduling.snapshot import PoolView

MOST_CHANGES = 2
"""More changes at once than this are no remedy but a different cluster."""
_MOST_WAYS = 3
"""Ways to come by a machine that are proposed for one pool and term."""


@dataclass(frozen=True, slots=True)
class Need:
    """What pods ask of a machine: a rule, and the largest of their requests."""

    rule: NodeRule
    requests: Resources
    daemons: tuple[Daemon, ...]
    well_known: frozenset[str]

    def holding(self, lane: Lane) -> Holding:
        """Return who says what the types of a lane hold."""
        return Holding(lane, self.daemons, self.well_known)


@dataclass(frozen=True, slots=True)
class Offer:
    """A proposal for one pool, with the price of the machine it aims at."""

    proposal: Proposal
    price: float
    """USD per hour."""


def offers_of(view: PoolView, need: Need) -> Iterator[Offer]:
    """Yield what would let the pool launch a machine for the pods, the fewest changes first, then the cheapest."""
    if not can_launch(view):
        return
    for term in need.rule.terms:
        gap = _Gap(view, need, term)
        fixed = gap.fixed()
        if fixed is not None and len(fixed) <= MOST_CHANGES:
            yield from gap.ways(fixed)


class _Gap:
    """What is between a pool and pods with one set of demands."""

    def __init__(self, view: PoolView, need: Need, term: Requirements) -> None:
        self._view = view
        self._need = need
        self._term = term
        self._table = table_of(view.instance_types)
        own = view.pool.template.requirements
        stated = {*view.pool.template.labels, view.pool.identity[0]}
        self._lane = Lane(view, self._table, view.pool.node_requirements(), 0)
        self._can_widen = [key for key in own if key not in stated]
        self._of_types = [key for key in self._can_widen if key in PLACE_KEYS or self._table.values(key)]
        """Requirements that some machine of the table may fail to meet."""

    def fixed(self) -> Proposal | None:
        """Return what has to change whatever the machine is; None when nothing in this pool helps."""
        found: list[Candidate] = []
        taints = self._need.rule.untolerated(self._view.pool.template.taints)
        if taints:
            found.append(tolerate(taints, self._view.pool.key))
        for conflict in self._lane.requirements.incompatibilities(self._term, well_known=self._need.well_known):
            if conflict.key not in self._of_types:
                change = self._settled(conflict)
                if change is None:
                    return None
                found.append(change)
        return tuple(found)

    def _settled(self, conflict: Conflict) -> Candidate | None:
        """Return the change that settles a conflict over a label which no machine brings along."""
        if conflict.suggestion is not None:
            return rename_label(conflict.key, conflict.suggestion)
        value = _value(conflict.theirs)
        if value is None or (conflict.ours is not None and conflict.key not in self._can_widen):
            return None
        if conflict.ours is None:
            return add_label(self._view.pool.key, conflict.key, value)
        return allow(self._view.pool.key, conflict.ours, value)

    def ways(self, fixed: Proposal) -> Iterator[Offer]:
        """Yield proposals, each for the cheapest machine that lacks just these things."""
        fails = {key: self._fails(key) for key in self._of_types}
        lacking = sum(fails.values(), start=np.zeros(self._table.prices.shape, dtype=np.int64))
        open_now = self._open()
        for more in range(MOST_CHANGES - len(fixed) + 1):
            yield from islice(self._cheapest(open_now & (lacking == more), fails, fixed), _MOST_WAYS)

    def _cheapest(self, left: Bools, fails: dict[str, Bools], fixed: Proposal) -> Iterator[Offer]:
        prices = self._table.prices
        while left.any():
            kind, zone, capacity_type = np.unravel_index(int(np.where(left, prices, np.inf).argmin()), prices.shape)
            at = int(kind), int(zone), int(capacity_type)
            lacks = [key for key in fails if fails[key][at]]
            # Others that lack the same are dearer ways to the same change.
            left = left & ~_alike(fails, lacks)
            values = [(key, self._value_at(key, at)) for key in lacks]
            changes = (self._allowed(key, value) for key, value in values)
            proposal = (*fixed, *changes)
            if proposal:
                yield Offer(proposal, float(prices[at]))

    def _allowed(self, key: str, value: str) -> Candidate:
        return allow(self._view.pool.key, self._view.pool.template.requirements[key], value)

    def _value_at(self, key: str, at: tuple[int, int, int]) -> str:
        """Return the label value of an offering."""
        kind, zone, capacity_type = at
        if key == labels.ZONE:
            return self._table.zones[zone]
        if key == labels.CAPACITY_TYPE:
            return self._table.capacity_types[capacity_type]
        possible = self._table.types[kind].requirements.allowed(key).intersect(self._term.allowed(key))
        return _value(possible) or ""

    def _fails(self, key: str) -> Bools:
        """Return which offerings do not meet a requirement of the pool (T×Z×K)."""
        table, now = self._table, self._view.pool.template.requirements[key]
        shape = table.prices.shape
        if key == labels.ZONE:
            meets = np.array([now.allows(zone) for zone in table.zones], dtype=np.bool_)[None, :, None]
        elif key == labels.CAPACITY_TYPE:
            meets = np.array([now.allows(kind) for kind in table.capacity_types], dtype=np.bool_)[None, None, :]
        else:
            meets = table.mask(now)[:, None, None]
        return np.broadcast_to(~meets, shape)

    def _open(self) -> Bools:
        """Return the offerings that hold the pods and are where they may be, the pool's own wishes apart (T×Z×K)."""
        table = self._table
        lane = replace(self._lane, requirements=self._lane.requirements.without(*self._of_types))
        holds = type_mask(lane, self._term) & self._need.holding(lane).holds(self._need.requests)
        return np.asarray(holds[:, None, None] & places(lane, self._term) & np.isfinite(table.prices))


def _alike(fails: dict[str, Bools], lacks: Sequence[str]) -> Bools:
    """Return the offerings that lack exactly these things."""
    masks = [fails[key] if key in lacks else ~fails[key] for key in fails]
    return np.logical_and.reduce(masks) if masks else np.ones((1, 1, 1), dtype=np.bool_)


def _value(requirement: Requirement) -> str | None:
    """Return a value that the requirement allows; None when none can be named."""
    if not requirement.complement:
        return min(requirement.values, default=None)
    return next((value for value in ("true", "1", *_beside(requirement)) if requirement.allows(value)), None)


def _beside(requirement: Requirement) -> Iterator[str]:
    if requirement.gt is not None:
        yield str(requirement.gt + 1)
    if requirement.lt is not None:
        yield str(requirement.lt - 1)


def smaller_requests(view: PoolView, need: Need) -> Iterator[tuple[float, Candidate]]:
    """Yield, with the share that it takes away, what pods could ask for less of to fit the pool's largest machine."""
    if not can_launch(view) or need.rule.untolerated(view.pool.template.taints):
        return
    table = table_of(view.instance_types)
    lane = Lane(view, table, view.pool.node_requirements(), 0)
    holding = need.holding(lane)
    for term in need.rule.terms:
        if not lane.requirements.compatible(term, well_known=need.well_known):
            continue
        types = type_mask(lane, lane.requirements) & type_mask(lane, term)
        enough = {name: holding.room(name) >= amount for name, amount in need.requests.items()}
        for resource, amount in need.requests.items():
            others = [mask for name, mask in enough.items() if name != resource]
            fitting = np.logical_and.reduce([types, *others])
            if resource != PODS and fitting.any() and not (fitting & enough[resource]).any():
                at = int(np.where(fitting, holding.room(resource), -np.inf).argmax())
                most = max(0, _rounded(resource, int(holding.room(resource)[at])))
                where = f"what {table.names[at]} of {view.pool.key} has room for"
                yield 1 - most / amount, lower_request(resource, most, asked=amount, where=where)


def _rounded(resource: str, amount: int) -> int:
    """Return an amount rounded down so that a reader can type it."""
    text = shown(resource, amount)
    step = 10 if resource == "cpu" else 2**20 if text.endswith(("Mi", "Gi", "Ti")) else 1
    return amount // step * step
