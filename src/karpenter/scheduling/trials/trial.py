"""Try a plan: bind its pods in several ways, count who is left without room, and price the machines they would need."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np

from karpenter.scheduling.catalog import Ints
from karpenter.scheduling.items import Item
from karpenter.scheduling.packing.dice import Dice
from karpenter.scheduling.solution import Solution
from karpenter.scheduling.trials.binding import Batch, Scheduler
from karpenter.scheduling.trials.company import Company
from karpenter.scheduling.trials.ground import Ground, Plan, Seat, ground_of
from karpenter.scheduling.trials.pricing import price_of
from karpenter.scheduling.work import Work

Arrival: TypeAlias = Literal["together", "in turn"]
WAYS: Final[tuple[Arrival, ...]] = ("together", "in turn")
"""How nodes come, one trial for each: together before anybody is bound, or one after the other in a drawn order."""
_MOST_PLACES: Final = 128
"""Plans of more places are tried on so many of them."""
_REPEATED_UP_TO: Final = 256
"""Plans of fewer pods are tried several times, until so many were bound each way …"""
_MOST_REPEATS: Final = 8
"""… but not more often than this: in small plans chance decides."""
_BATCHES: Final = 150
"""Into about so many batches the queue is cut when nodes come together."""


@dataclass(frozen=True, slots=True)
class Prospect:
    """What to expect of a plan once kube-scheduler has bound its pods; means over the trials, scaled to the plan."""

    pods: float
    """Pods that are bound."""
    left: float
    """Planned pods that find no room."""
    price: float
    """USD per hour of the machines they need then."""


def second_wave(work: Work, solution: Solution, *, node_fee: float) -> float:
    """Return the USD per hour to expect of a second wave of machines, after a solve that was not stopped."""
    return prospect(work, solution, node_fee=node_fee).price


def prospect(work: Work, solution: Solution, *, node_fee: float) -> Prospect:
    """Return what to expect of the plan in which a solve ended. Equal plans have equal prospects."""
    plan = _plan(work, solution)
    ground = _sampled(plan)
    pods = sum(crowd.count for crowd in ground.crowds)
    if len(ground.places.rows) < 2:
        # What was planned on the only place fits there in any order.
        return Prospect(pods, 0.0, 0.0)
    company = Company(plan, ground)
    dice = Dice(zlib.crc32(np.array([(crowd.kind, crowd.count) for crowd in ground.crowds]).tobytes()) & 0xFFFF)
    ways = WAYS * min(_MOST_REPEATS, max(1, _REPEATED_UP_TO // max(pods, 1)))
    left = [_left(plan, ground, company, dice=dice, way=way) for way in ways]
    columns = _columns(work)
    prices = [price_of(plan, _scaled(ground, each), columns, node_fee=node_fee) if each else 0.0 for each in left]
    missing = sum(sum(each.values()) for each in left) / len(left)
    return Prospect((pods - missing) / ground.share, missing / ground.share, sum(prices) / len(prices))


def _plan(work: Work, solution: Solution) -> Plan:
    columns = work.bins.columns
    seats = [
        Seat(
            columns.find(int(columns.lane[work.bins.column[row]]), claim.instance_type),
            columns.zones.index(claim.zone),
            columns.capacity_types.index(claim.capacity_type),
        )
        for row, claim in zip(work.bins.opened(), solution.new_claims, strict=True)
    ]
    return Plan(work.bins, work.waits, work.hosts, work.domains, seats)


def _columns(work: Work) -> Ints:
    """Return the columns that a second wave comes from: of pools as heavy as those that the plan needs."""
    tier, opened = work.machines.tier, work.bins.opened()
    return np.flatnonzero(tier <= tier[work.bins.column[opened]].max()) if opened else np.arange(len(tier))


def _sampled(plan: Plan) -> Ground:
    """Return the stage: all places that get pods, or an even sample of them.

    What other nodes have left was offered to the pods already, and did not suit them.
    """
    rows = np.array([row for row, shares in enumerate(plan.bins.shares) if shares], dtype=np.int64)
    if len(rows) <= _MOST_PLACES:
        return ground_of(plan, rows, share=1.0)
    order = np.argsort(Dice().roll(len(rows)), kind="stable")[:_MOST_PLACES]
    return ground_of(plan, rows[np.sort(order)], share=_MOST_PLACES / len(rows))


def _left(plan: Plan, ground: Ground, company: Company, *, dice: Dice, way: Arrival) -> dict[int, int]:
    """Return how many copies of each kind are left in one trial."""
    scheduler = Scheduler(ground, company, dice)
    queue = _queue(plan, ground, dice)
    there, coming = np.flatnonzero(ground.places.is_there), np.flatnonzero(~ground.places.is_there)
    if way == "together":
        waiting = scheduler.run(_batches(queue, len(ground.kinds)), [there, coming])
    else:
        coming = coming[np.argsort(dice.roll(len(coming)), kind="stable")]
        waiting = scheduler.run_in_turn(queue, np.concatenate((there, coming)))
    left: dict[int, int] = {}
    for batch in waiting:
        left[batch.kind] = left.get(batch.kind, 0) + batch.left
    return left


def _queue(plan: Plan, ground: Ground, dice: Dice) -> Ints:
    """Return the kinds of the pods in the scheduler's order: the important ones first, then the oldest.

    Pods of one moment come in a drawn order.
    """
    kinds: list[Ints] = []
    ranks: list[Ints] = []
    ages: list[str] = []
    for crowd in ground.crowds:
        cls = plan.waits[crowd.cls].cls
        kinds.append(np.full(crowd.count, crowd.kind))
        ranks.append(np.full(crowd.count, -cls.priority))
        ages.extend(pod.metadata.creation_timestamp or "" for pod in cls.pods[: crowd.count])
    moment = {age: at for at, age in enumerate(sorted(set(ages)))}
    drawn = dice.roll(len(ages))
    order = np.lexsort((drawn, np.array([moment[age] for age in ages]), np.concatenate(ranks)))
    return np.concatenate(kinds)[order]


def _batches(queue: Ints, kinds: int) -> list[Batch]:
    """Return the queue with pods of one kind that are close to each other together."""
    windows = max(1, _BATCHES // kinds)
    batches: list[Batch] = []
    for part in np.array_split(queue, windows):
        found, first, counts = np.unique(part, return_index=True, return_counts=True)
        order = np.argsort(first)
        batches.extend(Batch(kind, n) for kind, n in zip(found[order].tolist(), counts[order].tolist(), strict=True))
    return batches


def _scaled(ground: Ground, left: dict[int, int]) -> dict[Item, int]:
    return {ground.kinds[at].item: max(1, round(count / ground.share)) for at, count in left.items()}
