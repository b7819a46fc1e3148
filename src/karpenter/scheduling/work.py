"""The steps of one solve: nodes, machines, the hard cases one by one; preferences fall when nothing serves."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from karpenter.scheduling.bins import Bins, Share
from karpenter.scheduling.catalog import Floats, Ints
from karpenter.scheduling.choosing import Chooser
from karpenter.scheduling.dealing import DomainRules, Domains
from karpenter.scheduling.domains import DomainGroup
from karpenter.scheduling.grow import Grower
from karpenter.scheduling.hosts import HostRules
from karpenter.scheduling.items import Item, Wait
from karpenter.scheduling.launch import Launcher
from karpenter.scheduling.machines import Machines
from karpenter.scheduling.reporter import Progress, Reporter, StopCheck
from karpenter.scheduling.rules import NodeRule

_MOST_RETURNS: Final = 3
"""How often pods that had to leave a place again may look for another."""


@dataclass(slots=True)
class Work:
    """The state of one solve."""

    bins: Bins
    waits: list[Wait]
    domains: DomainRules
    hosts: HostRules
    launcher: Launcher
    grower: Grower
    machines: Machines
    chooser: Chooser
    reporter: Reporter | None
    progress: Progress
    tiers: dict[tuple[NodeRule, bytes, int], int | None] = field(default_factory=dict)
    """Answers of `_tier`, as long as limits leave the same."""
    tiers_as_of: int = -1

    def keep_nominated(self, nominated: Iterable[Wait], leaving: Floats) -> None:
        """Leave pods alone for which the scheduler makes room on a node: they may count on what is leaving it (B×R)."""
        self.bins.lend(leaving)
        for wait in nominated:
            for item in self._hand_out(wait, wait.left):
                self.bins.fill(item, self.bins.known, self._scale())
                self._take_back([item])
        self.bins.lend(-leaving)

    def run(self, stop: StopCheck) -> bool:
        """Place what can be placed; return False when stopped before the end."""
        scale = self._scale()
        order = self._order(scale)
        returns = 0
        while True:
            if stop():
                return False
            before = self._left()
            promised = self._settle(order, scale)
            if stop():
                self._take_back(promised)
                return False
            self._launch(promised, scale)
            self._take_back(promised)
            self._evict()
            for wait in order:
                if wait.left and not stop() and not self._founds_too_early(wait):
                    self._place_singly(wait, scale)
            left_again = self._evict()
            self.machines.resize(self.bins)
            returns += left_again
            relaxed = [wait for wait in order if wait.left and self._relax(wait)]
            # Some may have waited for others, or for room on what these have opened.
            in_vain = not 0 < self._left() < before
            if not relaxed and in_vain and not (left_again and returns <= _MOST_RETURNS):
                return True

    def _left(self) -> int:
        return sum(wait.left for wait in self.waits)

    # --- nodes --------------------------------------------------------------------------------------------------------

    def _settle(self, order: Sequence[Wait], scale: Floats) -> list[Item]:
        """Place copies on what is there already; return those for which new machines can be launched.

        Copies that need the company of others wait for these, so classes that found none are tried again as long as
        anything moves.
        """
        promised: list[Item] = []
        waiting = [wait for wait in order if wait.left]
        patient = True
        while waiting:
            before = sum(wait.left for wait in waiting)
            for done, wait in enumerate(waiting):
                self.progress("filling nodes", done, len(waiting))
                promised.extend(self._settle_one(wait, scale, patient=patient))
            waiting = [wait for wait in waiting if wait.left and self._needs_company(wait)]
            if patient and sum(wait.left for wait in waiting) == before:
                patient = False
            elif not patient:
                break
        return promised

    def _settle_one(self, wait: Wait, scale: Floats, *, patient: bool) -> list[Item]:
        """Place copies of one class on nodes, giving up preferences that no node and no new machine could keep."""
        promised: list[Item] = []
        while wait.left:
            for item in self._hand_out(wait, wait.left):
                if not self.hosts.founds(item):
                    self.bins.fill(item, self.bins.known, scale)
                if item.left and self._tier(item) is not None and not self.hosts.needs_company(item):
                    promised.append(item)
                    continue
                if item.left and not self.hosts.founds(item):
                    self.bins.fill(item, self.bins.new, scale)
                self._take_back([item])
            if wait.left and (self._must_be_single(wait) or (patient and self._needs_company(wait))):
                break
            if wait.left and not self._relax(wait):
                break
        return promised

    def _needs_company(self, wait: Wait) -> bool:
        """Return whether the class has to be where certain other pods are."""
        if any(tie.owner and tie.group.term.kind == "affinity" for tie in self.domains.of(wait)):
            return True
        return self.hosts.needs_company(wait)

    def _must_be_single(self, wait: Wait) -> bool:
        return self.hosts.needs_company(wait)

    # --- machines -----------------------------------------------------------------------------------------------------

    def _launch(self, items: Sequence[Item], scale: Floats) -> None:
        """Open machines, from the pools of the lowest weight that anybody needs up to the highest.

        Those whom only pools of low weight can serve come first: what their machines have left costs nothing.
        """
        while True:
            waiting = [(item, tier) for item in items if item.left and (tier := self._tier(item)) is not None]
            if not waiting:
                return
            last = max(tier for _, tier in waiting)
            group = [item for item, tier in waiting if tier == last]
            for item in group:
                self.bins.fill(item, self.bins.new, scale)
            self.launcher.launch(group, self._columns(last), scale)
            for item in group:
                self._squeeze_in(item, scale)
            self.machines.resize(self.bins)
            self._dissolve()
            for item in group:
                item.floor = last + 1

    def _squeeze_in(self, item: Item, scale: Floats) -> None:
        """Place copies for which limits allow no machine more on planned ones, by larger types where it takes these."""
        while item.left and self._tier(item) is None:
            before = item.left
            self.grower.insert(item, scale)
            if item.left == before:
                return

    def _dissolve(self) -> None:
        """Give machines up that limits leave too few types for to keep the minValues of their pool (S-46)."""
        for row in self.bins.opened() if self.bins.columns.peers else ():
            if not self.chooser.choose(self.bins, row).is_flexible:
                for share in list(self.bins.shares[row]):
                    self._take_out(row, share, share.count)

    def _columns(self, tier: int) -> Ints:
        return np.flatnonzero((self.machines.tier == tier) & self.launcher.budget.affords())

    def _tier(self, item: Item) -> int | None:
        """Return the first tier, from the item's floor on, that can open a machine for a copy; None without one."""
        if not item.may_launch:
            return None
        budget = self.launcher.budget
        if self.tiers_as_of != budget.version:
            self.tiers.clear()
            self.tiers_as_of = budget.version
        known = item.rule, item.request.tobytes(), item.floor
        if known not in self.tiers:
            columns = self.bins.columns
            open_now = columns.open_to(item.rule) & columns.holding(item.request) & budget.affords()
            open_now &= self.machines.tier >= item.floor
            self.tiers[known] = int(self.machines.tier[open_now].min()) if open_now.any() else None
        return self.tiers[known]

    # --- one by one ---------------------------------------------------------------------------------------------------

    def _place_singly(self, wait: Wait, scale: Floats) -> None:
        """Place copies one by one, each in the first domain that has room: for what rules about other pods kept out."""
        if not self.domains.of(wait) and not self.hosts.of(wait.item(0)):
            return
        full: set[Domains] = set()
        while wait.left:
            founding = self.hosts.founds(wait.item(0))
            items = self._hand_out(wait, wait.left if founding else 1, without=full)
            if not items:
                return
            first, *others = items
            self._take_back(others)
            before = first.left
            if founding:
                self.grower.found(first, scale)
            else:
                self.grower.insert(first, scale)
            if first.left == before:
                full.add(first.domains)
            self._take_back([first])

    def _founds_too_early(self, wait: Wait) -> bool:
        """Return whether copies would decide the host of their like while some of these may still be found one.

        Those have preferences left to give up: once they are somewhere, that is where all others have to go.
        """
        if not self.hosts.founds(wait):
            return False
        can_move = (other for other in self.waits if other.left and other is not wait and not other.is_relaxed)
        return any(self.hosts.is_company(other, wait) for other in can_move)

    def _evict(self) -> bool:
        """Take pods out of places where a rule that they state does not hold in the end; return whether there were any.

        Others found no place, or are where nobody expected them: in a domain that was none before, on another host.
        """
        self.domains.discover(self.bins.column, self.bins.places, self.bins.opened())
        left = self._evict_lonely()
        settled: set[tuple[int, str]] = set()
        moved = True
        while moved:
            moved = False
            for at, group in enumerate(self.domains.groups):
                for domain in sorted(group.owned):
                    if (at, domain) not in settled and group.excess(domain):
                        moved = self._evict_from(group, domain) or moved
                        left = left or moved
                        if group.excess(domain):
                            settled.add((at, domain))
        return left

    def _evict_lonely(self) -> bool:
        """Take pods off hosts where they are without the company that they want and that is elsewhere."""
        moved = False
        for at, group in enumerate(self.hosts.groups):
            for row in group.lonely():
                for share in list(self.bins.shares[row]):
                    tie = next((tie for tie in self.hosts.of(share.item) if tie.group == at), None)
                    if tie is not None and tie.owner and (tie.meant or not group.count_on(row)):
                        self._take_out(row, share, share.count)
                        moved = True
        return moved

    def _evict_from(self, group: DomainGroup, domain: str) -> bool:
        """Take out the pods placed last that state the rule there, until it holds; return whether there were any."""
        moved, entry = False, (group.term.key, domain)
        for row in range(self.bins.size - 1, -1, -1):
            for share in reversed(self.bins.shares[row]):
                if entry in share.item.domains and self.domains.states(share.item, group):
                    excess = group.excess(domain)
                    if not excess:
                        return moved
                    self._take_out(row, share, min(excess, share.count))
                    moved = True
        return moved

    # --- handing out --------------------------------------------------------------------------------------------------

    def _hand_out(self, wait: Wait, most: int, *, without: Collection[Domains] = ()) -> list[Item]:
        items = self.domains.deal(wait, most, without=without)
        wait.left -= sum(item.left for item in items)
        return items

    def _take_back(self, items: Iterable[Item]) -> None:
        """Return the copies that found no place to those who wait."""
        for item in items:
            self.domains.give_back(item, item.left)
            self.waits[item.index].left += item.left
            item.left = 0

    def _take_out(self, row: int, share: Share, count: int) -> None:
        """Take placed copies out of a bin and let them wait again; a machine without pods is given up."""
        self.bins.take(row, share, count)
        self.domains.give_back(share.item, count)
        self.waits[share.item.index].left += count
        if row >= len(self.bins.nodes) and not self.bins.shares[row]:
            self.launcher.budget.take(int(self.bins.column[row]), -1)

    def _relax(self, wait: Wait) -> bool:
        """Give up the next preference of copies that wait; return False when only what is required is left."""
        given_up = wait.relax()
        if given_up is not None and self.reporter is not None:
            self.reporter.relaxed(wait.cls.pods[-wait.left :], given_up)
        return given_up is not None

    # --- order --------------------------------------------------------------------------------------------------------

    def _scale(self) -> Floats:
        """Return weights that make amounts of different resources comparable (R)."""
        room = np.concatenate((np.maximum(self.bins.room, 0), self.bins.columns.room))
        return 1.0 / np.maximum(room.mean(axis=0), 1.0) if len(room) else np.ones(room.shape[1])

    def _order(self, scale: Floats) -> list[Wait]:
        """Return the classes in the order in which they are dealt domains and meet existing nodes.

        Those that no pool could serve have nowhere else to go, so they come first. Then rules about other pods: who
        keeps others out before others are there, who is merely counted before who states a spread, who needs company
        last. Then priority, then size.
        """
        return sorted(
            self.waits,
            key=lambda wait: (
                self._tier(wait.item(0)) is not None,
                self._turn(wait),
                -wait.cls.priority,
                -float((wait.request * scale).sum()),
                wait.index,
            ),
        )

    def _turn(self, wait: Wait) -> int:
        kinds = {tie.group.term.kind for tie in self.domains.of(wait) if tie.owner}
        if self._needs_company(wait):
            return 3
        if "anti" in kinds:
            return 0
        return 2 if "spread" in kinds else 1
