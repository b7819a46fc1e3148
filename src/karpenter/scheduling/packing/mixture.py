"""The best mixture of known patterns: a linear program over patterns that asks for better ones until none comes.

This is column generation: the program's duals say what a copy of each shape is worth in the mixture, machines are
filled with what is worth most, and patterns worth more than their price join the program.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from karpenter.scheduling.catalog import Bools, Floats, Ints
from karpenter.scheduling.packing.dice import Dice
from karpenter.scheduling.packing.fold import Fold
from karpenter.scheduling.packing.linear import Optimum
from karpenter.scheduling.packing.problem import Problem
from karpenter.scheduling.packing.program import Basis, Program
from karpenter.scheduling.packing.variants import Variants
from karpenter.scheduling.reporter import Progress, unheard

EDGE: Final = 1e-6
"""Patterns have to be worth this much more than they cost, as a share; fractions below count as nothing."""
_AT_ONCE: Final = 96
"""Patterns that join the program in one round at most."""
_MISSING: Final = 100.0
"""What a copy without a place costs, in prices of the dearest machine."""
_ANEW_EVERY, _TRIES = 4, 6
"""Each so many rounds empty machines of all offers are filled, so many of each; in between parts are refilled."""
_REFILLED, _DROPPED, _MOVED = 600, 0.3, 0.15
"""Machines that are refilled in a round, the share of their shapes that leaves, and of them that changes the offer."""
_NEARLY: Final = 250
"""Patterns not in use that are unfolded with those that are."""
_STALE: Final = 1e-4
"""Rounds that gain less than this share of the cost are stale; a full turn of stale ones is the end."""


class Mixture:
    """Patterns of some offers known so far, and what the best mixture of them costs with machines in fractions."""

    def __init__(self, problem: Problem, guess: Floats, *, offers: Ints, every: Ints, dice: Dice) -> None:
        self.problem = problem
        self.offers = offers
        """Those that patterns are sought for."""
        self.every = every
        """Those that no other beats."""
        self.guess = guess
        """What shapes are worth by a first guess (S)."""
        self.offer: Ints = np.zeros(0, dtype=np.int64)
        """The offer of each pattern (N)."""
        self.copies: Ints = np.zeros((0, len(problem.count)), dtype=np.int64)
        """Copies of each shape in each pattern (N×S)."""
        self._known: set[tuple[int, bytes]] = set()
        self._dice = dice
        self.variants = Variants(problem, dice=dice)
        self._program = Program(
            problem.count.astype(np.float64),
            problem.budget,
            penalty=_MISSING * float(problem.price.max(initial=1.0)),
            unit=np.maximum(problem.charge.max(axis=0), 1.0),
        )
        self._optimum: Optimum | None = None

    def add(self, offers: Ints, copies: Ints) -> None:
        """Add patterns (n, n×S), those that are new."""
        fresh = []
        for at, offer in enumerate(offers.tolist()):
            key = offer, copies[at].tobytes()
            if key not in self._known:
                self._known.add(key)
                fresh.append(at)
        if fresh:
            offers, copies = offers[fresh], copies[fresh]
            self.offer = np.concatenate((self.offer, offers))
            self.copies = np.concatenate((self.copies, copies))
            self._program.add(self.problem.price[offers], copies, self.problem.charge[offers])
            self._optimum = None

    def add_best(self, offers: Ints, copies: Ints, worth: Floats, *, most: int, least: float) -> None:
        """Add those patterns (n, n×S) that are worth most (S) for their price, at least so much."""
        rate = self.rate(offers, copies, worth)
        best = np.argsort(-rate, kind="stable")[:most]
        best = best[rate[best] > least]
        self.add(offers[best], copies[best])

    def rate(self, offers: Ints, copies: Ints, worth: Floats) -> Floats:
        """Return what patterns are worth for their price, and for what they take of scarce limits (n)."""
        price = self.problem.price[offers]
        if self.problem.charge.shape[1] and len(self.offer):
            price = price - self.problem.charge[offers] @ self.optimum.duals[len(self.problem.count) :]
        return np.asarray((copies @ worth) / price)

    @property
    def optimum(self) -> Optimum:
        """The best mixture: how often each pattern (N), duals of shapes and limits (S+Q), USD per hour."""
        if self._optimum is None:
            self._optimum = self._program.solve()
        return self._optimum

    @property
    def worth(self) -> Floats:
        """What one copy more of each shape adds to the cost (S)."""
        return self.optimum.duals[: len(self.problem.count)]

    def begin(self, patterns: int) -> None:
        """Fill empty machines of all offers by the guess, and keep so many of them."""
        rows = np.repeat(self.offers, 2 * _TRIES)
        copies = self.variants.draw(rows, self.problem.count, self.guess)
        self.add_best(rows, copies, self.guess, most=patterns, least=0.0)

    def unfolded(self, fold: Fold, problem: Problem) -> Mixture:
        """Return the mixture of the problem that this one's was folded from, with the patterns that matter."""
        offers, every = fold.offers[:, self.offers].ravel(), fold.offers[:, self.every].ravel()
        whole = Mixture(
            problem, fold.widened(self.guess), offers=offers[offers >= 0], every=every[every >= 0], dice=self._dice
        )
        if not len(self.offer):
            return whole
        lost = self.problem.price[self.offer] * (1 - self.rate(self.offer, self.copies, self.worth))
        basis = self._program.basis()
        # Blocks differ in what there is to place, so patterns that are nearly in use may be used by some.
        others = np.flatnonzero(~basis.used)
        nearly = others if len(fold.shapes) == 1 else others[np.argsort(lost[others], kind="stable")[:_NEARLY]]
        whole.add(*fold.unfold(self.offer[basis.used], self.copies[basis.used]))
        begun = len(whole.offer)
        whole.add(*fold.unfold(self.offer[nearly], self.copies[nearly]))
        used = np.arange(len(whole.offer)) < begun
        whole._program.resume(Basis(fold.widened(basis.lacking), used, fold.widened(basis.slack), basis.spare))
        return whole

    def improve(self, rounds: int, *, progress: Progress = unheard) -> None:
        """Look for better patterns, for so many rounds or until nothing better comes."""
        stale = 0
        for number in range(rounds):
            before = self.optimum.objective
            if not len(self.offer):
                return
            progress("choosing machines", number, rounds)
            if number % _ANEW_EVERY == _ANEW_EVERY - 1:
                rows, copies = self._filled_anew()
            else:
                rows, copies = self._refilled()
            self.add_best(rows, copies, self.worth, most=_AT_ONCE, least=1 + EDGE)
            stale = stale + 1 if before - self.optimum.objective < _STALE * before else 0
            if stale == _ANEW_EVERY:
                return

    def _filled_anew(self) -> tuple[Ints, Ints]:
        rows = np.repeat(self.offers, _TRIES)
        return rows, self.variants.draw(rows, self.problem.count, self.worth)

    def _refilled(self) -> tuple[Ints, Ints]:
        """Return machines of patterns in use, some of another offer, with part of their load exchanged."""
        used = np.flatnonzero(self.optimum.x > EDGE)
        if not len(used):
            return self._filled_anew()
        chosen = used[pick(self._dice.roll(_REFILLED), len(used))]
        rows, base = self.offer[chosen], self.copies[chosen]
        base = base * (self._dice.roll(*base.shape) >= _DROPPED)
        others = self.offers[pick(self._dice.roll(_REFILLED), len(self.offers))]
        moved = (self._dice.roll(_REFILLED) < _MOVED) & self._holds(others, base)
        rows = np.where(moved, others, rows)
        return rows, self.variants.draw(rows, self.problem.count, self.worth, base=base)

    def _holds(self, offers: Ints, copies: Ints) -> Bools:
        roomy = (self.problem.room[offers] >= copies @ self.problem.request).all(axis=1)
        admitted: Bools = np.all(self.problem.admits[offers] | (copies == 0), axis=1)
        return np.asarray(roomy & admitted)


def pick(rolls: Floats, count: int) -> Ints:
    """Return positions below `count`, one for each number between 0 and 1."""
    return np.minimum((rolls * count).astype(np.int64), count - 1)
