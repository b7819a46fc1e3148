"""Whole machines from a mixture: its whole part, most of its larger fractions, and the rest by worth for price."""

from __future__ import annotations

from typing import Final

import numpy as np

from karpenter.scheduling.catalog import Ints
from karpenter.scheduling.packing.ledger import Ledger
from karpenter.scheduling.packing.mixture import EDGE, Mixture
from karpenter.scheduling.packing.problem import Packing, Pattern, affordable

_WORTH_A_MACHINE: Final = 0.3
"""Fractions from here on become one machine more while there are copies for it."""
_GUESSED: Final = 0.4
"""The part that the first guess has in what shapes are worth when the rest is placed."""
_TRIES, _FIRST_TRIES = 6, 3
"""Machines that are filled of each offer for what is left: of a few offers, and of all of them."""
_GOOD_ENOUGH: Final = 0.93
"""Patterns this close to the best are used too before new ones are made. Closer costs turns and gains nothing."""
_LOOSER: Final = 0.995
"""What is good enough is less with every turn, so that turns come to an end."""
_LOOK_AGAIN: Final = 0.7
"""All offers are looked at anew when the few fall behind, and no more is left than this share of last time."""
_SHORT_LIST: Final = 24
"""The few offers."""


def rounded(mixture: Mixture) -> Packing:
    """Return whole machines that place all that limits allow, at about the cost of the mixture."""
    ledger = Ledger(mixture.problem)
    often = mixture.optimum.x
    whole = np.floor(often + EDGE)
    rest = often - whole
    order = np.argsort(-rest, kind="stable")
    for at in order:
        if whole[at]:
            ledger.take(int(mixture.offer[at]), mixture.copies[at], whole[at])
    for at in order[rest[order] > _WORTH_A_MACHINE]:
        ledger.take(int(mixture.offer[at]), mixture.copies[at], 1)
    return placed(mixture, ledger)


def placed(mixture: Mixture, ledger: Ledger, *, short_list: Ints | None = None) -> Packing:
    """Place what is left: the pattern worth most for its price as often as demand allows, again and again.

    Whenever all that is left fits one machine, that way to end is kept in mind, and the cheapest end wins. Offers
    outside the `short_list` are looked at when those on it place nothing; without one, the first look makes it, and
    another does when its offers fall behind.
    """
    # Duals of one optimum often price a shape at nothing, because its resource comes with another; the guess knows.
    worth = mixture.guess
    if len(mixture.offer):
        worth = (1 - _GUESSED) * np.maximum(mixture.worth, 0.0) + _GUESSED * mixture.guess
    offers, reference = (mixture.offers, np.inf) if short_list is None else (short_list, 0.0)
    good, looked = _GOOD_ENOUGH, np.inf
    ends: list[Packing] = []
    while ledger.left.any():
        last = _last_machine(mixture, ledger)
        if last is not None and (not ends or ledger.cost + mixture.problem.price[last.offer] < ends[-1].cost):
            ends.append(ledger.packing(last))
        tries = _FIRST_TRIES if offers is mixture.offers else _TRIES
        rows = np.repeat(offers[affordable(mixture.problem, ledger.budget)[offers]], tries)
        copies = mixture.variants.draw(rows, ledger.left, worth)
        rate = mixture.rate(rows, copies, worth)
        order = np.argsort(-rate, kind="stable")
        best = float(rate[order[0]]) if len(order) else 0.0
        left = int(ledger.left.sum())
        fell_behind = best < reference * good and left <= looked * _LOOK_AGAIN
        if offers is not mixture.offers and (best <= 0 or fell_behind):
            offers, reference = mixture.offers, np.inf
            continue
        if best <= 0:
            break
        for at in order[rate[order] >= best * good]:
            ledger.take(int(rows[at]), copies[at], np.inf)
        good *= _LOOSER
        if offers is mixture.offers:
            offers, reference, looked = _first_different(rows[order]), best, left
    return min([ledger.packing(), *ends[-1:]], key=Packing.rank)


def _last_machine(mixture: Mixture, ledger: Ledger) -> Pattern | None:
    """Return the cheapest machine that holds all that is left; None when there is none."""
    problem, left, offers = mixture.problem, ledger.left, mixture.every
    offers = offers[(problem.room[offers] >= left @ problem.request).all(axis=1)]
    if not len(offers) or not mixture.variants.groups.allow(left[None])[0]:
        return None
    offers = offers[problem.admits[offers][:, left > 0].all(axis=1) & affordable(problem, ledger.budget)[offers]]
    if not len(offers):
        return None
    return Pattern(int(offers[problem.price[offers].argmin()]), left.copy(), 1)


def _first_different(rows: Ints) -> Ints:
    """Return the first offers of a ranking, each once."""
    _, first = np.unique(rows, return_index=True)
    return rows[np.sort(first)[:_SHORT_LIST]]
