"""What preferences cost: the same demand solved with them, without any, and without each one.

Source: cases PREFER.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from karpenter.model.core import Pod
from karpenter.scheduling.demand import Demand
from karpenter.scheduling.policy import Options, PreferencePolicy
from karpenter.scheduling.reporter import Progress, StopCheck, never, unheard
from karpenter.scheduling.snapshot import Snapshot
from karpenter.scheduling.solution import Solution, Unschedulable
from karpenter.scheduling.solver import preferences_of, solve


@dataclass(frozen=True, slots=True)
class PricedPreference:
    """One preference and what keeping it costs."""

    words: str
    pods: int
    """How many of the demanded pods state it."""
    given_up: int
    """For how many of them nothing could serve it."""
    price: float
    """USD per hour saved by not heeding it; below zero when the plan happens to be dearer without."""


@dataclass(frozen=True, slots=True)
class PreferencePrices:
    """Two plans for one demand, and the preferences between them, the dearest first."""

    respected: Solution
    ignored: Solution
    preferences: tuple[PricedPreference, ...]

    @property
    def price(self) -> float:
        """USD per hour that all preferences cost together."""
        return self.respected.price - self.ignored.price


def prices_of_preferences(
    snapshot: Snapshot,
    demand: Demand,
    options: Options,
    *,
    most: int = 8,
    of: Collection[str] | None = None,
    stop: StopCheck = never,
    progress: Progress = unheard,
) -> PreferencePrices:
    """Solve a demand with and without preferences, and without each of the `most` commonest ones.

    `of` are the preferences to price, in the words of `Level.given_up`; None prices any.
    Pools keep their own policies only in so far as they say the same as the one that is tried.
    """
    relaxed = _Relaxed()
    respected = solve(snapshot, demand, _with(options, "Respect"), stop=stop, reporter=relaxed)
    ignored = solve(snapshot, demand, _with(options, "Ignore"), stop=stop)
    stated = preferences_of(snapshot, demand, _with(options, "Respect"))
    commonest = sorted(
        (words for words in stated if of is None or words in of), key=lambda words: (-stated[words], words)
    )
    priced: list[PricedPreference] = []
    for at, words in enumerate(commonest[:most]):
        progress("pricing preferences", at, len(commonest[:most]))
        if stop():
            break
        # Where nobody's wish could be kept, giving it up saves nothing.
        is_kept = relaxed.counts[words] < stated[words]
        without = solve(snapshot, demand, _without(options, words), stop=stop) if is_kept else respected
        saved = respected.price - without.price
        priced.append(PricedPreference(words, stated[words], relaxed.counts[words], saved))
    return PreferencePrices(respected, ignored, tuple(sorted(priced, key=lambda entry: (-entry.price, entry.words))))


def _with(options: Options, preferences: PreferencePolicy) -> Options:
    return replace(options, policy=replace(options.policy, preferences=preferences))


def _without(options: Options, words: str) -> Options:
    policy = options.policy
    return replace(options, policy=replace(policy, preferences="Respect", waived=policy.waived | {words}))


@dataclass(slots=True)
class _Relaxed:
    """Counts the pods for which each preference was given up."""

    counts: Counter[str] = field(default_factory=Counter)

    def placed(self, pods: Sequence[Pod], place: str) -> None:
        pass

    def rejected(self, refused: Unschedulable) -> None:
        pass

    def relaxed(self, pods: Sequence[Pod], preference: str) -> None:
        self.counts[preference] += len(pods)

    def progress(self, phase: str, done: int, total: int) -> None:
        pass
