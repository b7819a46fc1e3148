"""Pack: place as many copies as limits allow, then pay as little as can be found with the effort given."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from karpenter.scheduling.packing.dice import Dice
from karpenter.scheduling.packing.exact import MOST_STATES, best_packing, states_of
from karpenter.scheduling.packing.firstfit import first_fit, most_machines
from karpenter.scheduling.packing.fold import fold
from karpenter.scheduling.packing.insert import inserted
from karpenter.scheduling.packing.mixture import Mixture
from karpenter.scheduling.packing.problem import Packing, Problem, may_bind
from karpenter.scheduling.packing.refine import fitted, refined
from karpenter.scheduling.packing.rounding import rounded
from karpenter.scheduling.packing.thin import promising, undominated
from karpenter.scheduling.packing.worth import worth_of
from karpenter.scheduling.reporter import Progress, unheard

_FIRST_ROUNDS: Final = 5
"""Rounds of better patterns in a first answer."""
_EASY: Final = 150
"""Shapes up to which a round costs what it should; with more it costs as the square, so there are fewer rounds."""
_TOO_HARD: Final = 0.04
"""Problems so much harder are packed by the first guess of what shapes are worth, without a mixture."""
_SEEDS: Final = 300
_SHARE_UNFOLDED: Final = 6
"""One in so many rounds is left for the problem as it is, the others for the folded one."""
_REFINED: Final = 200
"""Machines that are filled to refine a packing, for each round."""
_HANDFUL: Final = 60
"""So few machines may be packed better by a simple order than by mixtures, of which whole machines are rounded."""
_LEAST_REFINED: Final = 600
"""Machines that are filled at least to refine a handful that limits leave no other choice about."""
_FEW_SHAPES: Final = 64
_MORE_OF_A_HANDFUL: Final = 2
"""How often a mixture of few shapes is rounded again: chance decides about 2 % of the price of a handful."""


def pack(problem: Problem, *, rounds: int = 0, progress: Progress = unheard) -> Packing:
    """Return a packing of low cost that places all it can under the limits.

    `rounds` is effort beyond the first answer: equal rounds, equal packings.
    """
    if not len(problem.price) or not problem.count.any():
        return Packing((), problem.count.copy(), 0.0)
    if states_of(problem) <= MOST_STATES and not may_bind(problem):
        return best_packing(problem, undominated(problem))
    folded = fold(problem)
    offers = undominated(folded.problem)
    guess = worth_of(folded.problem, offers)
    few = promising(folded.problem, offers, guess)
    dice = Dice()
    mixture = Mixture(folded.problem, guess.shapes, offers=few, every=offers, dice=dice)
    ease = min(1.0, (_EASY / len(folded.problem.count)) ** 2)
    rounds = math.ceil(rounds * ease)
    if ease >= _TOO_HARD:
        mixture.begin(_SEEDS)
        mixture.improve(_FIRST_ROUNDS, progress=progress)
    whole = mixture.unfolded(folded, problem)
    members = []
    if rounds and ease >= _TOO_HARD:
        if len(problem.count) <= _FEW_SHAPES:
            # Rounding is chance: more effort must not be unlucky where the first answer was not.
            members.append(_best_of(whole, rounded(whole)))
        mixture.improve(rounds, progress=progress)
        whole = mixture.unfolded(folded, problem)
    whole.improve(rounds // _SHARE_UNFOLDED)
    last = rounded(whole)
    fills = rounds * _REFINED
    if last.unplaced and last.machines <= _HANDFUL:
        fills = max(fills, _LEAST_REFINED)
    best = min([*members, _best_of(whole, last)], key=Packing.rank)
    return refined(whole, best, fills=fills, dice=dice, progress=progress)


def _best_of(mixture: Mixture, packing: Packing) -> Packing:
    """Return the packing or, where others have a chance at little effort, the best of several."""
    problem, members = mixture.problem, [packing]
    is_handful = packing.machines <= _HANDFUL
    if len(problem.count) <= _FEW_SHAPES:
        members += [rounded(mixture) for _ in range(_MORE_OF_A_HANDFUL if is_handful else 1)]
    if packing.unplaced and problem.charge.any():
        members.append(inserted(problem, packing, mixture.every))
    if is_handful or (packing.unplaced and np.isfinite(most_machines(problem))):
        members.append(fitted(problem, first_fit(problem), mixture.every))
    return min(members, key=Packing.rank)
