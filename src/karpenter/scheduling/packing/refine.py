"""Improve a packing: machines get the cheapest offers that hold them; some are taken apart and put together anew."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from karpenter.scheduling.catalog import Bools, Ints
from karpenter.scheduling.packing.dice import Dice
from karpenter.scheduling.packing.ledger import Ledger, packing_of
from karpenter.scheduling.packing.mixture import Mixture, pick
from karpenter.scheduling.packing.problem import Packing, Pattern, Problem
from karpenter.scheduling.packing.rounding import placed
from karpenter.scheduling.reporter import Progress, unheard

_MOST_TAKEN_APART: Final = 12
_OTHERS: Final = 12
"""Offers that may come in beside those of the machines taken apart."""
_EVEN_GOOD_ONES: Final = 0.02
"""The share of a machine's price that counts as lost even if it is full."""
_GAIN: Final = 1e-9


def fitted(problem: Problem, packing: Packing, offers: Ints) -> Packing:
    """Return the packing with the cheapest of these offers for every machine that takes no more of any limit."""
    if not packing.patterns:
        return packing
    now = np.array([pattern.offer for pattern in packing.patterns])
    copies = np.stack([pattern.copies for pattern in packing.patterns])
    better = np.where(_holds(problem, copies, offers), problem.price[offers], np.inf)
    for limit in np.flatnonzero(problem.charge.any(axis=0)):
        better[problem.charge[offers, limit] > problem.charge[now, limit][:, None]] = np.inf
    best = better.argmin(axis=1)
    cheaper = better[np.arange(len(now)), best] < problem.price[now]
    chosen = np.where(cheaper, offers[best], now).tolist()
    return packing_of(
        problem, [Pattern(offer, each.copies, each.times) for offer, each in zip(chosen, packing.patterns, strict=True)]
    )


def _holds(problem: Problem, copies: Ints, offers: Ints) -> Bools:
    """Return which of the offers hold which loads (n×offers)."""
    amounts = copies @ problem.request
    holds: Bools = np.all(problem.room[offers] >= amounts[:, None], axis=2)
    # Numbers, because products of truth values have no fast routine.
    unwelcome = (copies > 0).astype(np.float32) @ (~problem.admits[offers]).T.astype(np.float32)
    holds &= unwelcome == 0
    return holds


def refined(mixture: Mixture, packing: Packing, *, fills: int, dice: Dice, progress: Progress = unheard) -> Packing:
    """Return a packing that is no worse, found by filling about so many machines.

    Each turn takes a few machines apart, those more often that hold little for their price, and keeps the new ones if
    they cost less.
    """
    problem, start = mixture.problem, mixture.variants.filled
    best = fitted(problem, packing, mixture.every)
    while (done := mixture.variants.filled - start) < fills and best.patterns:
        progress("refining machines", done, fills)
        chosen = _taken_apart(mixture, best, dice=dice)
        pairs = list(zip(best.patterns, chosen.tolist(), strict=True))
        kept = [replace(pattern, times=pattern.times - gone) for pattern, gone in pairs if pattern.times > gone]
        others = mixture.offers[pick(dice.roll(_OTHERS), len(mixture.offers))]
        offers = np.unique([*others, *(pattern.offer for pattern, gone in pairs if gone)])
        made = placed(mixture, Ledger(problem, kept), short_list=offers)
        made = fitted(problem, made, mixture.every)
        if made.unplaced < best.unplaced or (made.unplaced == best.unplaced and made.cost < best.cost - _GAIN):
            best = made
    return best


def _taken_apart(mixture: Mixture, packing: Packing, *, dice: Dice) -> Ints:
    """Return how many machines of each pattern to take apart."""
    offers = np.array([pattern.offer for pattern in packing.patterns])
    copies = np.stack([pattern.copies for pattern in packing.patterns])
    times = np.array([pattern.times for pattern in packing.patterns])
    price = mixture.problem.price[offers]
    lost = np.maximum(price - copies @ mixture.worth, 0.0) + _EVEN_GOOD_ONES * price
    number = 1 + int(dice.roll(1)[0] * min(_MOST_TAKEN_APART, times.sum()))
    up_to = np.cumsum(lost * times)
    drawn = np.searchsorted(up_to, dice.roll(number) * up_to[-1])
    return np.asarray(np.minimum(np.bincount(drawn, minlength=len(times)), times))
