"""The default scheduler on a stage: pods in their order, each to the place with most points, as nodes come.

Copies are bound several at a time: what a place is worth to the next copy is known beforehand, so the best places for
many copies are found at once. Which of equally good places is taken is drawn, as the scheduler does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from karpenter.scheduling.catalog import Bools, Floats, Ints
from karpenter.scheduling.packing.dice import Dice
from karpenter.scheduling.trials import points
from karpenter.scheduling.trials.company import Company
from karpenter.scheduling.trials.ground import Ground, Kind

_AHEAD: Final = 512
"""So many of those in the queue are looked at together."""
_DRAWN: Final = 1 << 13
"""Draws that are made beforehand and used in turn."""
_DEEP: Final = 2
"""A place gets at most so many times its part of a batch before it is asked anew."""
_MOST_RETRIES: Final = 3
"""How often pods that had to wait for the company of others, or for a level, are tried again."""


@dataclass(slots=True)
class Batch:
    """Copies of one kind that are next in the queue together."""

    kind: int
    left: int


class Scheduler:
    """One trial: what is bound where."""

    def __init__(self, ground: Ground, company: Company, dice: Dice) -> None:
        self._ground = ground
        self._company = company
        places = ground.places
        self._room = places.room.copy()
        self._used = places.used.copy()
        self._scored = places.used.copy()
        self._open = np.zeros(len(places.rows), dtype=np.bool_)
        self._bound: dict[int, Ints] = {}
        """Copies of kinds that scoring spreads, by place (B)."""
        pods = sum(crowd.count for crowd in ground.crowds)
        self._draws = dice.roll(min(_DRAWN, max(1, pods * len(places.rows))))
        self._drawn = 0
        self._requests = np.array([kind.request for kind in ground.kinds]).reshape(len(ground.kinds), -1)
        self._counts = np.array([kind.scored for kind in ground.kinds]).reshape(len(ground.kinds), -1)
        self._is_spread = [kind.is_spread for kind in ground.kinds]
        self._admits = np.array([kind.admits for kind in ground.kinds]).reshape(len(ground.kinds), -1)
        self._is_bound = bool(company.is_bound.any())
        company.reset()

    def run(self, queue: Sequence[Batch], arrivals: Iterable[Ints]) -> list[Batch]:
        """Bind what can be bound as places arrive, group by group; return who is left."""
        waiting = list(queue)
        for arrived in arrivals:
            self._open[arrived] = True
            waiting = self._serve(waiting, arrived)
        return self._serve_again(waiting)

    def run_in_turn(self, queue: Ints, order: Ints) -> list[Batch]:
        """Bind what can be bound as places come one by one, and return who is left; the queue holds the pods' kinds."""
        for place in order.tolist():
            self._open[place] = True
            queue = self._fill_one(queue, place)
        kinds, counts = np.unique(queue, return_counts=True)
        return self._serve_again(
            [Batch(kind, count) for kind, count in zip(kinds.tolist(), counts.tolist(), strict=True)]
        )

    def _serve_again(self, waiting: list[Batch]) -> list[Batch]:
        for _ in range(_MOST_RETRIES):
            before = sum(batch.left for batch in waiting)
            waiting = self._serve(waiting, np.flatnonzero(self._open))
            if sum(batch.left for batch in waiting) == before:
                break
        return waiting

    def _fill_one(self, queue: Ints, place: int) -> Ints:
        """Let a place take from the queue whatever fits next, until nothing does; return who still waits."""
        gone = np.zeros(len(queue), dtype=np.bool_)
        while True:
            caps = self._caps_on(place)
            ahead = np.flatnonzero((caps >= 1)[queue] & ~gone)[:_AHEAD]
            if not len(ahead):
                return queue[~gone]
            kinds = queue[ahead]
            used = np.cumsum(self._requests[kinds], axis=0)
            fits = (used <= self._room[place]).all(axis=1) & (_ranks(kinds) < caps[kinds])
            if self._is_bound:
                fits &= self._company.are_independent(kinds)
            taken = ahead[: len(fits) if fits.all() else int(fits.argmin())]
            gone[taken] = True
            self._put_all(place, queue[taken])

    def _put_all(self, place: int, kinds: Ints) -> None:
        """Bind pods of these kinds to one place."""
        requests = self._requests[kinds].sum(axis=0)
        self._room[place] -= requests
        self._used[place] += requests[:2]
        self._scored[place] += self._counts[kinds].sum(axis=0)
        found, counts = np.unique(kinds, return_counts=True)
        for kind, count in zip(found.tolist(), counts.tolist(), strict=True):
            if self._is_spread[kind]:
                self._bound_of(kind)[place] += count
            if self._company.is_bound[kind]:
                self._company.put(kind, np.array([place]), np.array([count]))

    def _caps_on(self, place: int) -> Floats:
        """Return how many copies of each kind a place takes by rule, 0 without room for one (S)."""
        fits = (self._requests <= self._room[place]).all(axis=1) & self._admits[:, place]
        return np.where(fits, self._company.caps_on(place, self._open) if self._is_bound else np.inf, 0.0)

    def _serve(self, waiting: list[Batch], places: Ints) -> list[Batch]:
        """Try everybody on these places once; return who still waits."""
        kinds = np.array([batch.kind for batch in waiting], dtype=np.int64)
        fits = self._fitting(places)
        at = 0
        while at < len(waiting):
            ahead = fits[kinds[at:]]
            if not ahead.any():
                break
            at += int(ahead.argmax())
            batch = waiting[at]
            self._bind(batch, places)
            fits[batch.kind] &= not batch.left
            at += 1
        return [batch for batch in waiting if batch.left]

    def _fitting(self, places: Ints) -> Bools:
        """Return which kinds have room and are admitted on any of the places."""
        most = self._room[places].max(axis=0, initial=-1.0)
        return np.asarray((self._requests <= most).all(axis=1) & self._admits[:, places].any(axis=1))

    def _bind(self, batch: Batch, places: Ints) -> None:
        """Bind as many copies of a batch as these places take."""
        kind = self._ground.kinds[batch.kind]
        while batch.left:
            caps = self._caps(kind, places, batch.left)
            most = float(batch.left)
            if self._company.is_bound[batch.kind]:
                shares = self._company.shares(batch.kind, places, caps, open_now=self._open, most=batch.left)
                if shares is not None:
                    for mine, count in shares:
                        batch.left -= self._take(batch.kind, places[mine], caps[mine], count=count)
                    return
                allowed, at_once = self._company.caps(batch.kind, places, self._open)
                most = min(most, at_once)
                np.minimum(caps, allowed, out=caps)
            taken = self._take(batch.kind, places, caps, count=int(most))
            batch.left -= taken
            if not taken:
                return

    def _caps(self, kind: Kind, places: Ints, most: int) -> Floats:
        """Return how many copies each place has room for."""
        asked = np.flatnonzero(kind.request)
        room = self._room[places]
        copies = np.floor(room[:, asked] / kind.request[asked]).min(axis=1, initial=float(most))
        copies[(room < 0).any(axis=1) | ~kind.admits[places]] = 0
        return np.asarray(np.maximum(copies, 0.0))

    def _take(self, at: int, places: Ints, caps: Floats, *, count: int) -> int:
        """Bind up to `count` copies to the places with most points; return how many were bound."""
        there = np.flatnonzero(caps >= 1)
        if not len(there) or not count:
            return 0
        if len(there) == 1:
            copies = np.array([min(count, int(caps[there[0]]))])
        else:
            copies = self._best(at, places[there], caps[there], count=count)
        chosen = np.flatnonzero(copies)
        self._put(at, places[there[chosen]], copies[chosen])
        return int(copies.sum())

    def _best(self, at: int, places: Ints, caps: Floats, *, count: int) -> Ints:
        """Return how many of the copies each place gets."""
        deep = int(min(count, caps.max(), _DEEP + _DEEP * count // len(places)))
        score = self._points(at, places, deep) + self._draw(len(places), deep)
        if deep == 1 and count == 1:
            copies = np.zeros(len(places), dtype=np.int64)
            copies[score[:, 0].argmax()] = 1
            return copies
        # A copy is only in question where those before it are; so no copy is worth more than they.
        score = np.minimum.accumulate(score, axis=1)
        score[np.arange(deep) >= caps[:, None]] = -np.inf
        flat = score.ravel()
        count = min(count, int(np.isfinite(flat).sum()))
        chosen = np.argpartition(-flat, count - 1)[:count]
        return np.bincount(chosen // deep, minlength=len(places))

    def _points(self, at: int, places: Ints, deep: int) -> Floats:
        kind = self._ground.kinds[at]
        total = self._ground.places.total[places]
        score = points.of_resources(
            total,
            self._used[places],
            self._scored[places],
            asks=kind.request[:2],
            counts=kind.scored,
            copies=deep,
        )
        if kind.liked is not None:
            score += points.of_preference(kind.liked[places])[:, None]
        if kind.is_spread:
            bound = self._bound_of(at)
            zone = self._ground.places.zone
            in_zone = np.bincount(zone + 1, weights=bound, minlength=int(zone.max()) + 2).astype(np.float64)
            zones = len(np.unique(zone[places]))
            on_host = bound[places].astype(np.float64)
            score += points.of_spread(on_host, in_zone[zone[places] + 1], hosts=len(places), zones=zones, copies=deep)
        return score

    def _draw(self, places: int, deep: int) -> Floats:
        need = places * deep
        if self._drawn + need > len(self._draws):
            self._drawn = 0
        drawn = np.resize(self._draws[self._drawn : self._drawn + need], need)
        self._drawn += need
        return drawn.reshape(places, deep)

    def _put(self, at: int, places: Ints, copies: Ints) -> None:
        kind = self._ground.kinds[at]
        self._room[places] -= copies[:, None] * kind.request
        self._used[places] += copies[:, None] * kind.request[:2]
        self._scored[places] += copies[:, None] * kind.scored
        if kind.is_spread:
            self._bound_of(at)[places] += copies
        if self._company.is_bound[at]:
            self._company.put(at, places, copies)

    def _bound_of(self, at: int) -> Ints:
        """Return how many pods of a kind were bound to each place (B)."""
        if at not in self._bound:
            self._bound[at] = np.zeros(len(self._open), dtype=np.int64)
        return self._bound[at]


def _ranks(kinds: Ints) -> Ints:
    """Return for each entry how many equal ones come before it."""
    order = np.argsort(kinds, kind="stable")
    sorted_kinds = kinds[order]
    begins = np.flatnonzero(np.append(True, sorted_kinds[1:] != sorted_kinds[:-1]))
    ranks = np.empty(len(kinds), dtype=np.int64)
    ranks[order] = np.arange(len(kinds)) - np.repeat(begins, np.diff(np.append(begins, len(kinds))))
    return ranks
