"""What a claim says of its machine: the types that would do, the zone, what it costs.

Rails narrow what is listed; they give way to minValues, and to the pods.
Source: spec v1 S-23, S-46, S-61; spec v1alpha5 SCH-24, SCH-26.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from karpenter.model import labels
from karpenter.model.requirements import Requirement, Requirements
from karpenter.scheduling.bins import Bins
from karpenter.scheduling.catalog import Bools, Floats, Ints
from karpenter.scheduling.classes import Port
from karpenter.scheduling.columns import Columns
from karpenter.scheduling.flexibility import Spectrum, lowered, shortened, suffices
from karpenter.scheduling.lanes import type_mask
from karpenter.scheduling.limits import Budget
from karpenter.scheduling.machines import Machines
from karpenter.scheduling.policy import Policy
from karpenter.scheduling.rails.lists import expected_and_worst, launched_as, listed
from karpenter.scheduling.rails.zones import Quote
from karpenter.scheduling.rules import NodeRule

_ANY: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Choice:
    """The machines that would do for one load, and the best of them."""

    column: int
    instance_types: tuple[str, ...]
    """Cheapest first; the planned one leads."""
    price: float
    """USD per hour of the cheapest offering."""
    expected_price: float
    worst_price: float
    """USD per hour of the dearest one that the cloud may give."""
    places: Bools
    """Zones and capacity types with the cheapest price (Z×K)."""
    requirements: Requirements
    is_flexible: bool
    """Whether the types bring all the values that minValues ask for; otherwise the requirements ask for fewer."""


@dataclass(frozen=True, slots=True)
class _Frame:
    """What loads may choose from that come under the same rules."""

    columns: Ints
    price: Floats
    """USD per hour where the rules let them be (those columns×Z×K); else infinite."""
    wanted: Requirements
    asked: tuple[Spectrum, ...]
    """What minValues ask of these columns."""


@dataclass(frozen=True, slots=True)
class _Case:
    """A load with its frame, and what holds it."""

    frame: _Frame
    fits: Bools
    """Columns of the frame that hold the load and that limits allow."""
    sized: Bools
    """Those of them that are no larger than they may be; all, if no others are left."""


class Chooser:
    """Answers for opened machines; equal questions are asked often, so answers are kept."""

    def __init__(
        self, columns: Columns, budget: Budget, machines: Machines, *, policy: Policy, most_types: int
    ) -> None:
        self._columns = columns
        self._budget = budget
        self._machines = machines
        self._policy = policy
        self._most_types = most_types
        self._frames: dict[tuple[tuple[Requirements, ...], int, tuple[Port, ...]], _Frame] = {}
        self._framed: dict[tuple[frozenset[NodeRule], int], _Frame] = {}
        self._cases: dict[tuple[bytes, frozenset[NodeRule], int, int, bytes], _Case] = {}
        self._last: dict[int, tuple[tuple[int, int, int], _Case]] = {}
        """The case of each bin when it was looked at last, and as of which state of it, of limits and of all bins."""
        self._alike: dict[tuple[int, bytes, bytes], _Case] = {}
        """Cases by frame and what holds them: many loads have the same choice."""
        self._chosen: dict[tuple[int, int | None, frozenset[str]], Choice] = {}
        self._quotes: dict[int, Quote] = {}

    def choose(self, bins: Bins, row: int, *, zone: int | None = None, without: frozenset[str] = _ANY) -> Choice:
        """Return the machines that would do for an opened bin: of its pool, and of its limits' share.

        With a `zone` only what that zone offers, unless minValues ask for more; `without` are types that are to be left
        out if others cost little more.
        """
        case = self._case(bins, row)
        if any(spectrum.key == labels.ZONE for spectrum in case.frame.asked):
            zone = None
        key = id(case), zone, without
        found = self._chosen.get(key)
        if found is None:
            found = self._choose(case, zone, without)
            if zone is not None and not found.is_flexible:
                found = self._choose(case, None, without)
            self._chosen[key] = found
        return found

    def quote(self, bins: Bins, row: int) -> Quote:
        """Return what the cheapest machine for an opened bin costs in each zone, and its vCPU there.

        Of bins with the same choice it is the same object.
        """
        case = self._case(bins, row)
        found = self._quotes.get(id(case))
        if found is None:
            found = self._quotes[id(case)] = self._quote(case)
        return found

    def _quote(self, case: _Case) -> Quote:
        at = np.flatnonzero(case.sized)
        price = case.frame.price[at].min(axis=2)
        first = (price * self._columns.slowness[case.frame.columns[at], None]).argmin(axis=0)
        cores = self._machines.cores[case.frame.columns[at]]
        return Quote(price[first, np.arange(price.shape[1])], cores[first])

    def _choose(self, case: _Case, zone: int | None, without: frozenset[str]) -> Choice:
        columns, frame = self._columns, case.frame
        price = frame.price
        if zone is not None:
            price = np.full_like(price, np.inf)
            price[:, zone] = frame.price[:, zone]
        order = self._listed(case, price, without)
        offered = price[order]
        names = columns.names(frame.columns[order])
        expected, worst = expected_and_worst(offered, columns.capacity_types)
        return Choice(
            column=int(frame.columns[order[0]]),
            instance_types=names,
            price=float(offered[0].min()),
            expected_price=expected,
            worst_price=worst,
            places=np.asarray(offered[0] == offered[0].min()),
            requirements=lowered(frame.wanted, frame.asked, order).intersect(_narrowed(columns, names, offered)),
            is_flexible=suffices(frame.asked, order),
        )

    def _listed(self, case: _Case, price: Floats, without: frozenset[str]) -> Ints:
        """Return the types to list, cheapest first, as positions in the frame."""
        asked, least = case.frame.asked, price.min(axis=(1, 2)) * self._columns.slowness[case.frame.columns]
        fits, sized = (_cheapest_first(mask, least) for mask in (case.fits, case.sized))
        if not self._policy.rails:
            return shortened(asked, fits, self._most_types)
        order = self._spared(case.frame, sized, least, without=without)
        is_spot = self._columns.capacity_types[launched_as(price[order], self._columns.capacity_types)] == labels.SPOT
        order = order[listed(least[order], is_spot=is_spot, rails=self._policy.flexibility)]
        if suffices(asked, order):
            return shortened(asked, order, self._most_types)
        if suffices(asked, sized):
            return shortened(asked, sized, len(order))
        return shortened(asked, fits, len(order) if suffices(asked, fits) else self._most_types)

    def _spared(self, frame: _Frame, order: Ints, least: Floats, *, without: frozenset[str]) -> Ints:
        """Return the order without types that are to be left out, if what is left is not much dearer."""
        if not without:
            return order
        names = self._columns.names(frame.columns[order])
        kept = order[np.array([name not in without for name in names], dtype=np.bool_)]
        is_near = len(kept) and least[kept[0]] <= least[order[0]] * self._policy.flexibility.spot_ratio
        return kept if is_near else order

    # --- cases --------------------------------------------------------------------------------------------------------

    def _case(self, bins: Bins, row: int) -> _Case:
        """Return the case of a bin as it is now: most are asked for twice."""
        as_of = bins.version[row], self._budget.version, bins.size
        last, case = self._last.get(row, (None, None))
        if case is None or last != as_of:
            case = self._judge(bins, row)
            self._last[row] = as_of, case
        return case

    def _judge(self, bins: Bins, row: int) -> _Case:
        load, rules, now = bins.load(row), bins.rules(row), int(bins.column[row])
        spare = self._budget.spare(now, bins.size - len(bins.nodes))
        sizes = self._machines.sized(bins, row)
        key = load.tobytes(), rules, now, id(sizes), spare.tobytes()
        found = self._cases.get(key)
        if found is None:
            frame = self._frame(rules, now)
            fits = np.all(self._columns.size[frame.columns] >= load, axis=1)
            fits &= np.all(self._budget.size[frame.columns] <= np.maximum(spare, self._budget.charge[now]), axis=1)
            sized = fits & sizes[frame.columns]
            case = _Case(frame, fits, sized if sized.any() else fits)
            alike = id(frame), case.fits.tobytes(), case.sized.tobytes()
            found = self._cases[key] = self._alike.setdefault(alike, case)
        return found

    def _frame(self, rules: frozenset[NodeRule], now: int) -> _Frame:
        """Return what loads under these rules may choose from in a column's lane."""
        found = self._framed.get((rules, now))
        if found is None:
            found = self._framed[rules, now] = self._frame_of(rules, now)
        return found

    def _frame_of(self, rules: frozenset[NodeRule], now: int) -> _Frame:
        lane = int(self._columns.lane[now])
        place = self._place(self._machines.together(rules)[0][now], now)
        terms = tuple(self._term(rule, now, place) for rule in sorted(rules, key=repr))
        ports = tuple(sorted({port for rule in rules for port in rule.ports}))
        key = terms, lane, ports
        found = self._frames.get(key)
        if found is None:
            found = self._frames[key] = self._make_frame(terms, lane, ports)
        return found

    def _make_frame(self, terms: tuple[Requirements, ...], at: int, ports: Sequence[Port]) -> _Frame:
        columns = self._columns
        lane = columns.lanes[at]
        wanted = columns.kept_light(at, lane.stated.intersect(*terms))
        mine = np.flatnonzero(columns.lane == at)
        price = np.where(columns.places(wanted), columns.price[mine], np.inf)
        fits = np.isfinite(price).any(axis=(1, 2))
        for term in terms:
            fits &= type_mask(lane, term)[columns.kind[mine]]
        order = np.flatnonzero(fits & ~columns.taken(ports)[mine])
        asked = tuple(
            replace(spectrum, values=tuple(spectrum.values[at] for at in order.tolist()))
            for spectrum in columns.asked(at, np.isfinite(price))
        )
        return _Frame(mine[order], price[order], wanted, asked)

    def _place(self, joint: Bools, column: int) -> tuple[int, int]:
        price = np.where(joint, self._columns.price[column], np.inf)
        zone, kind = np.unravel_index(int(price.argmin()), price.shape)
        return int(zone), int(kind)

    def _term(self, rule: NodeRule, column: int, place: tuple[int, int]) -> Requirements:
        """Return the alternative of the rule that the planned offering meets; the first one, if several."""
        if len(rule.terms) == 1:
            return rule.terms[0]
        return next(term for term in rule.terms if self._columns.row(rule.only(term))[column][place])


def _cheapest_first(mask: Bools, least: Floats) -> Ints:
    """Return the positions of a mask where something can be had, by price (least: n)."""
    there = np.flatnonzero(mask & np.isfinite(least))
    return there[np.argsort(least[there], kind="stable")]


def _narrowed(columns: Columns, names: Sequence[str], price: Floats) -> tuple[Requirement, ...]:
    """Return the types, zones and capacity types in which something can be had (price: listed types×Z×K)."""
    there: Bools = np.any(np.isfinite(price), axis=0)
    zones = [columns.zones[at] for at in np.flatnonzero(there.any(axis=1))]
    kinds = [columns.capacity_types[at] for at in np.flatnonzero(there.any(axis=0))]
    return (
        Requirement.of(labels.INSTANCE_TYPE, "In", names),
        Requirement.of(labels.ZONE, "In", zones),
        Requirement.of(labels.CAPACITY_TYPE, "In", kinds),
    )
