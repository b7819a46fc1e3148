"""What rules about other pods have counted before the pods of a trial come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from karpenter.scheduling.catalog import Bools, Ints
from karpenter.scheduling.trials.ground import Ground, Plan

NOWHERE: Final = -1
"""The domain of a place without the label."""
MANY: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class Rules:
    """G rules, those over hosts first."""

    kinds: tuple[str, ...]
    hosts: int
    """How many of them are over hosts."""
    skew: Ints
    """G."""
    least_domains: Ints
    """G."""
    code: Ints
    """Position of each place's domain, -1 where it has none (B×G)."""
    counted: Bools
    """Places on which a rule counts pods (B×G)."""


class Start:
    """Reads the rules that bind the kinds of a stage, G in all: those over hosts, then those over labels."""

    def __init__(self, plan: Plan, ground: Ground) -> None:
        self._plan = plan
        self._ground = ground
        over_hosts = sorted({bond.group for kind in ground.kinds for bond in kind.hosts})
        self.at_host = {group: at for at, group in enumerate(over_hosts)}
        """Position of each rule over hosts among the G."""
        self.at_label = {group: len(over_hosts) + at for at, group in enumerate(sorted(ground.regions))}
        """Position of each rule over a label among the G."""

    def rules(self) -> Rules:
        """Return the rules."""
        size = len(self._ground.places.rows)
        hosts = [self._plan.hosts.groups[at] for at in self.at_host]
        regions = [self._ground.regions[at] for at in self.at_label]
        codes = [*(np.arange(size) for _ in hosts), *(region.code for region in regions)]
        everywhere = np.ones(size, dtype=np.bool_)
        counted = [*(everywhere for _ in hosts), *(each.counted & (each.code != NOWHERE) for each in regions)]
        terms = [region.group.term for region in regions]
        return Rules(
            kinds=(*(group.kind for group in hosts), *(term.kind for term in terms)),
            hosts=len(hosts),
            skew=np.array([*(group.cap for group in hosts), *(term.max_skew for term in terms)], dtype=np.int64),
            least_domains=np.array([*(0 for _ in hosts), *(term.min_domains for term in terms)], dtype=np.int64),
            code=np.array(codes, dtype=np.int64).reshape(-1, size).T,
            counted=np.array(counted, dtype=np.bool_).reshape(-1, size).T,
        )

    def counts(self) -> tuple[Ints, Ints]:
        """Return how many pods in each place's domain each rule means, and how many state it (B×G, twice)."""
        rows = self._ground.places.rows
        count = np.zeros((len(rows), len(self.at_host) + len(self.at_label)), dtype=np.int64)
        owned = np.zeros_like(count)
        for group, at in self.at_host.items():
            count[:, at], owned[:, at] = self._plan.hosts.groups[group].counts(rows)
        for group, at in self.at_label.items():
            region = self._ground.regions[group]
            for numbers, known in ((count, region.group.count), (owned, region.group.owned)):
                of_domain = np.array([*(known.get(name, 0) for name in region.names), 0], dtype=np.int64)
                numbers[:, at] = of_domain[region.code]
        self._forget(count, owned)
        return count, owned

    def _forget(self, count: Ints, owned: Ints) -> None:
        """Take away what the plan counted for the pods that are tried."""
        plan, regions = self._plan, self._ground.regions
        at_label = {id(regions[group].group): (regions[group], at) for group, at in self.at_label.items()}
        for place, share in self._ground.moved:
            for tie in plan.hosts.of(share.item):
                if tie.group in self.at_host:
                    is_firm = tie.owner and not plan.hosts.groups[tie.group].is_soft
                    count[place, self.at_host[tie.group]] -= share.count * tie.meant
                    owned[place, self.at_host[tie.group]] -= share.count * is_firm
            for group, domain, owner, meant in plan.domains.marks(share.item):
                if id(group) in at_label and domain in at_label[id(group)][0].names:
                    region, at = at_label[id(group)]
                    there = region.code == region.names.index(domain)
                    count[there, at] -= share.count * meant
                    owned[there, at] -= share.count * (owner and not group.term.is_soft)

    def of_others(self) -> tuple[Ints, Ints]:
        """Return how many pods each rule means on nodes that are not tried, and the least count of a domain there (G).

        Only domains that none of the places has.
        """
        size = len(self.at_host) + len(self.at_label)
        elsewhere, outside = np.zeros(size, dtype=np.int64), np.full(size, MANY)
        nodes, others = self._plan.bins.nodes, self._ground.others
        for group, at in self.at_host.items():
            counts = self._plan.hosts.groups[group].counts(others)[0]
            elsewhere[at], outside[at] = counts.sum(), counts.min(initial=MANY)
        for group, at in self.at_label.items():
            region = self._ground.regions[group]
            rule = region.group
            values, codes = nodes.label(rule.term.key)
            mine = others if rule.counted is None else others[nodes.row(rule.counted)[others]]
            names = {name for code in np.unique(codes[mine]).tolist() if (name := values[code]) is not None}
            counts = np.array([rule.count.get(name, 0) for name in names - set(region.names)], dtype=np.int64)
            elsewhere[at], outside[at] = counts.sum(), counts.min(initial=MANY)
        return elsewhere, outside
