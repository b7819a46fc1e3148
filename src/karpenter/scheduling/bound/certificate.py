"""The proof of a bound: prices of copies and of limits, and why no machine can hold copies worth more than it costs.

Every plan places `count` copies and keeps `budget`. If on no offer the copies of one machine can be worth more than
its price and what it takes of limits, the plan costs at least worth·count − scarcity·budget; machines that are there
already and cost nothing may hold what they can, which is taken off.

That the copies of one machine are worth no more follows from multipliers: for any copies that the machine can hold

    worth·copies ≤ Σ resources·room + Σ cuts·(rounded room) + Σ groups·cap + Σ most·max(0, what a copy is worth beyond)

where a copy's worth beyond is what the same multipliers on its request leave of its worth, and `most` is how many
copies a machine holds of one shape alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from karpenter.scheduling.bound.cuts import Cut
from karpenter.scheduling.catalog import Bools, Floats, Ints


@dataclass(frozen=True, slots=True)
class Multipliers:
    """USD per hour for what a machine is made of; none is negative."""

    resources: tuple[float, ...]
    """For one unit of each resource (R)."""
    groups: tuple[float, ...]
    """For each copy that a group lets be on one machine (G)."""
    cuts: tuple[tuple[Cut, float], ...]
    """For each unit of a rounded row."""

    def cost(self, demand: Demand) -> Floats:
        """Return what one copy of each shape takes, at these prices (S)."""
        total = demand.requests @ np.array(self.resources) + demand.groups @ np.array(self.groups)
        for cut, each in self.cuts:
            total = total + each * cut.of(demand.requests)
        return np.asarray(total)

    def scaled(self, factor: float) -> Multipliers:
        """Return all of them times a factor."""
        return Multipliers(
            tuple(each * factor for each in self.resources),
            tuple(each * factor for each in self.groups),
            tuple((cut, each * factor) for cut, each in self.cuts),
        )


@dataclass(frozen=True, slots=True)
class Certificate:
    """Everything that a bound rests on, beside the problem's own data."""

    worth: tuple[float, ...]
    """USD per hour of one copy of each shape (S)."""
    scarcity: tuple[float, ...]
    """USD per hour of one unit of each limited amount (Q)."""
    multipliers: tuple[Multipliers, ...]
    of_offers: tuple[int, ...]
    """Which multipliers prove each offer (J)."""
    of_nodes: tuple[int, ...]
    """Which ones limit what each machine holds that is there already."""


@dataclass(frozen=True, slots=True)
class Bound:
    """What no plan can undercut."""

    price: float
    """USD per hour of new machines."""
    certificate: Certificate


@dataclass(frozen=True, slots=True)
class Demand:
    """What has to be placed, and under which rules and limits."""

    requests: Floats
    """S×R."""
    count: Ints
    """S."""
    groups: Bools
    """Which shapes belong to which group (S×G)."""
    caps: Floats
    """Copies of each group that one machine holds (G)."""
    budget: Floats
    """Q."""


@dataclass(frozen=True, slots=True)
class Places:
    """Machines of n kinds as a bound sees them: what each holds, and of which shapes how many."""

    room: Floats
    """n×R."""
    most: Floats
    """Copies of each shape that one holds by itself (n×S)."""

    def worth(self, multipliers: Multipliers, worth: Floats, demand: Demand) -> Floats:
        """Return what the copies on one machine of each kind can be worth at most (n), by these multipliers."""
        resources, per_group = np.array(multipliers.resources), np.array(multipliers.groups)
        total = self.room @ resources + float(demand.caps @ per_group)
        for cut, each in multipliers.cuts:
            total = total + each * cut.of(self.room)
        return np.asarray(total + self.most @ np.maximum(worth - multipliers.cost(demand), 0.0))


def places_of(room: Floats, admits: Bools, demand: Demand) -> Places:
    """Return the places of these rooms (n×R) and admitted shapes (n×S)."""
    alone = np.where(demand.groups, demand.caps, np.inf).min(axis=1, initial=np.inf)
    most = np.where(admits, np.minimum(demand.count, alone), 0.0)
    for resource in np.flatnonzero(demand.requests.any(axis=0)):
        asking = np.flatnonzero(demand.requests[:, resource])
        fits = np.floor(np.maximum(room[:, resource, None], 0.0) / demand.requests[asking, resource])
        most[:, asking] = np.minimum(most[:, asking], fits)
    return Places(room, most)


def least(values: Sequence[Floats]) -> tuple[Floats, Ints]:
    """Return the least of several values for each place (n), and which it is."""
    stacked = np.stack(values)
    return stacked.min(axis=0), stacked.argmin(axis=0).astype(np.int64)
