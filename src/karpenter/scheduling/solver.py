"""Where the pods of a demand go and what is launched for them.

Existing nodes first, then claims in flight, then new machines: of the pools with the highest weight that can serve a
pod, at the lowest price. Preferences are given up one by one, for a whole class at a time, when nothing can serve them.
Source: spec v1alpha5 §2.3 … §2.11, spec v1 §2.2 … §2.7.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from karpenter.scheduling.answer import Answer
from karpenter.scheduling.bounding import Proof, prove
from karpenter.scheduling.demand import Demand
from karpenter.scheduling.filling import FULL, best_fill, fixed_fill
from karpenter.scheduling.policy import Options, Policy
from karpenter.scheduling.reporter import Kept, Reporter, StopCheck, never
from karpenter.scheduling.rules import NOMINATION
from karpenter.scheduling.setting import Setting
from karpenter.scheduling.snapshot import Snapshot
from karpenter.scheduling.solution import Solution
from karpenter.scheduling.trials import second_wave
from karpenter.scheduling.work import Work


def solve(
    snapshot: Snapshot,
    demand: Demand,
    options: Options = Options(),  # noqa: B008 - frozen
    *,
    stop: StopCheck = never,
    reporter: Reporter | None = None,
) -> Solution:
    """Return where the demanded pods go, which machines to launch for them, and why the rest stays pending.

    Equal input gives an equal answer, whatever order pods and nodes come in. `stop` is asked between steps; once it
    says so the answer is `complete=False` and holds what was found so far: pods that were not looked at are neither
    placed nor unschedulable.

    Raises:
        ValueError: a running pod or a daemon asks for an amount that is no quantity.
    """
    return solve_with_proof(snapshot, demand, options, stop=stop, reporter=reporter)[0]


def solve_with_proof(
    snapshot: Snapshot,
    demand: Demand,
    options: Options = Options(),  # noqa: B008 - frozen
    *,
    stop: StopCheck = never,
    reporter: Reporter | None = None,
) -> tuple[Solution, Proof | None]:
    """Return what `solve` returns, and the proof of its lower bound; None when it was stopped.

    Raises:
        ValueError: a running pod or a daemon asks for an amount that is no quantity.
    """
    first = _best_attempt(snapshot, demand, options, stop=stop, reporter=reporter)
    if not first.solution.complete:
        first.tell()
        return replace(first.solution, rails_cost=None), None
    proof, of_rails = _proved(first, options.rounds)
    best = first
    if options.rounds and first.solution.placements:
        again = partial(_attempt, snapshot, demand, options, stop=stop, reporter=reporter)
        best = _with_best_fill(first.tried(options.policy.node_fee), again, options.policy)
    best.tell()
    solution = replace(best.solution, lower_bound=proof.bound.price)
    if first.solution.new_claims:
        solution = replace(solution, rails_cost=(solution.rails_cost or 0.0) + of_rails)
    return solution, proof


def _best_attempt(
    snapshot: Snapshot, demand: Demand, options: Options, *, stop: StopCheck, reporter: Reporter | None
) -> _Attempt:
    """Solve with the effort asked for; where limits leave pods pending, no fewer are placed than with less effort.

    What is packed best leaves the best choice to all others only as long as nobody is turned away.
    """
    full = _attempt(snapshot, demand, options, stop=stop, reporter=reporter)
    if not (options.rounds and full.solution.complete and full.solution.unschedulable and full.setting.has_limits):
        return full
    plain = _attempt(snapshot, demand, replace(options, rounds=0), stop=stop, reporter=reporter)
    return min(full, plain, key=_Attempt.rank) if plain.solution.complete else full


def _proved(attempt: _Attempt, rounds: int) -> tuple[Proof, float]:
    """Return the proof for an attempt that was not stopped, and what the rails add to the bound in USD per hour."""
    if not attempt.solution.new_claims:
        return prove(None, rounds=rounds), 0.0
    railed, free = attempt.setting.statements(attempt.work)
    progress = attempt.work.progress
    proof = prove(railed, rounds=rounds, progress=progress)
    least = proof if free is None else prove(free, rounds=rounds, progress=progress)
    return proof, max(proof.bound.price - least.bound.price, 0.0)


def _with_best_fill(first: _Attempt, again: Callable[..., _Attempt], policy: Policy) -> _Attempt:
    """Return the attempt with the fill that trials favour; `first` is full."""
    attempts = {FULL: first}

    def at(fill: float) -> Solution | None:
        looser = again(fill=fill)
        if not looser.solution.complete:
            return None
        attempts[fill] = looser.tried(policy.node_fee)
        return attempts[fill].solution

    return attempts[best_fill(first.solution, policy, at)]


def solve_without_bound(
    snapshot: Snapshot,
    demand: Demand,
    options: Options = Options(),  # noqa: B008 - frozen
    *,
    stop: StopCheck = never,
) -> Solution:
    """Return what `solve` returns, but for the lower bound: for whoever asks about many worlds that may never be.

    Raises:
        ValueError: a running pod or a daemon asks for an amount that is no quantity.
    """
    return _attempt(snapshot, demand, options, stop=stop, reporter=None).solution


def beginning(
    snapshot: Snapshot,
    demand: Demand,
    options: Options = Options(),  # noqa: B008 - frozen
) -> Work:
    """Return the state in which a solve would begin: nobody placed yet, every rule read and counted.

    For whoever weighs many small changes of one world against each other, where a solve for each would take too long.

    Raises:
        ValueError: a running pod or a daemon asks for an amount that is no quantity.
    """
    return Setting(snapshot, demand, options, fill=fixed_fill(options.policy)).work(None)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A solve at one fill, and what there is to tell about it."""

    solution: Solution
    setting: Setting
    work: Work
    told: Kept | None

    def rank(self) -> tuple[int, float]:
        """Return how good the answer is, the least first: pods left pending, then price and fees of the machines."""
        solution, fee = self.solution, self.setting.options.policy.node_fee
        return len(solution.unschedulable), solution.price + fee * len(solution.new_claims)

    def tell(self) -> None:
        """Tell the reporter: this attempt counts."""
        if self.told is not None:
            self.told.tell()

    def tried(self, node_fee: float) -> _Attempt:
        """Return the attempt with what binding trials expect of its plan."""
        price = second_wave(self.work, self.solution, node_fee=node_fee)
        return replace(self, solution=replace(self.solution, second_wave=price))


def _attempt(
    snapshot: Snapshot,
    demand: Demand,
    options: Options,
    *,
    stop: StopCheck,
    reporter: Reporter | None,
    fill: float | None = None,
) -> _Attempt:
    """Solve with a fill; None for that of the policy."""
    told = None if reporter is None else Kept(reporter)
    setting = Setting(snapshot, demand, options, fill=fixed_fill(options.policy) if fill is None else fill)
    work = setting.work(told)
    complete = work.run(stop)
    answer = Answer(work.bins, setting.grouping.classes, setting.settler(work), setting.judge(work), told)
    return _Attempt(answer.build(work.waits, demand, complete=complete), setting, work, told)


def preferences_of(snapshot: Snapshot, demand: Demand, options: Options) -> Counter[str]:
    """Return the preferences of the demanded pods in the words of `Level.given_up`, and how many pods state each."""
    setting = Setting(snapshot, demand, options)
    stated: Counter[str] = Counter()
    for cls in setting.grouping.classes:
        words = {level.given_up for level in setting.ladders[cls.profile]} - {""}
        stated.update({wish: cls.size for wish in words if not wish.startswith(NOMINATION)})
    return stated
