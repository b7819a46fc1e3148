"""Nodes and claims in flight as one table: what each still has room for, and which classes it admits.

Source: spec v1alpha5 SCH-4 … SCH-7, SCH-23.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from karpenter.model.labels import HOSTNAME, INITIALIZED, REGISTERED, normalized
from karpenter.model.pods import is_terminating
from karpenter.model.requirements import Requirement
from karpenter.model.taints import NO_SCHEDULE, Taint
from karpenter.scheduling.catalog import Bools, Floats, Ints
from karpenter.scheduling.daemons import Daemon, still_wanted
from karpenter.scheduling.requests import total_requests
from karpenter.scheduling.rules import NodeRule
from karpenter.scheduling.snapshot import NodeView

_CORDONED = Taint(key="node.kubernetes.io/unschedulable", effect=NO_SCHEDULE)


@dataclass(frozen=True, slots=True)
class Nodes:
    """The B nodes and claims in flight that may take pods, in their order: initialized ones first, then by name."""

    views: tuple[NodeView, ...]
    _labels: tuple[dict[str, str], ...]
    _taints: Ints
    """Position of each node's taints among the different sets of taints (B)."""
    _taint_sets: tuple[tuple[Taint, ...], ...]
    _rows: dict[NodeRule, Bools] = field(default_factory=dict)
    _masks: dict[Requirement, Bools] = field(default_factory=dict)
    _codes: dict[str, tuple[tuple[str | None, ...], Ints]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.views)

    @property
    def hostnames(self) -> dict[str, str]:
        """The hostname label of each node, by its name."""
        return {view.name: labels[HOSTNAME] for view, labels in zip(self.views, self._labels, strict=True)}

    def row(self, rule: NodeRule) -> Bools:
        """Return which nodes the rule's pods may go to (B): taints and labels, not resources."""
        found = self._rows.get(rule)
        if found is None:
            tolerated = np.array([rule.tolerates(taints) for taints in self._taint_sets], dtype=np.bool_)
            found = np.zeros(len(self), dtype=np.bool_)
            for term in rule.terms:
                matching = np.ones(len(self), dtype=np.bool_)
                for requirement in term.values():
                    matching &= self._mask(requirement)
                found |= matching
            if len(self):
                found &= tolerated[self._taints]
            self._rows[rule] = found
        return found

    def _mask(self, requirement: Requirement) -> Bools:
        """Return which nodes have a label value that meets the requirement; an absent label has none (API-27)."""
        found = self._masks.get(requirement)
        if found is None:
            values, codes = self.label(requirement.key)
            verdicts = [requirement.allows_absence if value is None else requirement.allows(value) for value in values]
            found = self._masks[requirement] = np.array(verdicts, dtype=np.bool_)[codes]
        return found

    def label(self, key: str) -> tuple[tuple[str | None, ...], Ints]:
        """Return the different values of a label, None for absence, and each node's position among them (B)."""
        found = self._codes.get(key)
        if found is None:
            position: dict[str | None, int] = {}
            codes = [position.setdefault(labels.get(key), len(position)) for labels in self._labels]
            found = self._codes[key] = (tuple(position), np.array(codes, dtype=np.int64))
        return found

    def room(self, resources: Sequence[str], daemons: Sequence[Daemon]) -> Floats:
        """Return what is left on each node (B×R): allocatable less bound pods less daemons still to come.

        A node on which any amount is overdrawn has no room at all (SCH-11), so all its amounts are negative.
        """
        expected = self._expected(daemons)
        left = np.empty((len(self), len(resources)))
        for at, view in enumerate(self.views):
            used = view.requests
            wanted = still_wanted(view, expected[at]) if expected[at] else {}
            free = {
                name: view.allocatable.get(name, 0) - used.get(name, 0) - wanted.get(name, 0)
                for name in {*view.allocatable, *used, *wanted}
            }
            overdrawn = any(amount < 0 for amount in free.values())
            left[at] = -1.0 if overdrawn else [free.get(name, 0) for name in resources]
        return left

    def leaving(self, resources: Sequence[str]) -> Floats:
        """Return what pods on their way out still take of each node (B×R)."""
        taken = np.zeros((len(self), len(resources)))
        for at, view in enumerate(self.views):
            used = total_requests(pod for pod in view.pods if is_terminating(pod))
            taken[at] = [used.get(name, 0) for name in resources] if used else 0
        return taken

    def _expected(self, daemons: Sequence[Daemon]) -> list[dict[str, int]]:
        expected: list[dict[str, int]] = [{} for _ in self.views]
        for daemon in daemons:
            for at in np.flatnonzero(self.row(daemon.rule)):
                for name, amount in daemon.requests.items():
                    expected[at][name] = expected[at].get(name, 0) + amount
        return expected


def nodes_of(views: Sequence[NodeView]) -> Nodes:
    """Return the table of the nodes that offer capacity: those on their way out do not."""
    staying = sorted(
        (view for view in views if not view.is_deleting), key=lambda view: (not view.is_initialized, view.name)
    )
    position: dict[tuple[Taint, ...], int] = {}
    codes = [position.setdefault(_taints(view), len(position)) for view in staying]
    return Nodes(
        views=tuple(staying),
        _labels=tuple(_labels(view) for view in staying),
        _taints=np.array(codes, dtype=np.int64),
        _taint_sets=tuple(position),
    )


def _labels(view: NodeView) -> dict[str, str]:
    labels = {HOSTNAME: view.name, **normalized(dict(view.labels))}
    coming_up = view.is_managed and not view.is_initialized
    return {**labels, REGISTERED: "true", INITIALIZED: "true"} if coming_up else labels


def _taints(view: NodeView) -> tuple[Taint, ...]:
    cordoned = view.node is not None and view.node.spec.unschedulable
    if cordoned and not any(taint.matches(_CORDONED) for taint in view.taints):
        return (*view.taints, _CORDONED)
    return view.taints
