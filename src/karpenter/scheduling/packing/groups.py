"""Shapes that mind each other on one machine: anti-affinity and spread over hosts, ports, shares of a workload.

One form serves them all: a machine that holds a copy of an owner holds at most so many copies of the matched shapes.
Source: spec v1alpha5 SCH-40 … SCH-44, SCH-60; spec v1 S-33, S-35.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from karpenter.scheduling.catalog import Bools, Floats, Ints


@dataclass(frozen=True, slots=True)
class Group:
    """One rule: who states it, whom it counts, and how many of these a machine with an owner may hold."""

    owners: Bools
    """Shapes that state the rule (S)."""
    matched: Bools
    """Shapes that it counts, owners among them or not (S)."""
    cap: int
    """0 keeps the matched away from every owner; 1 with owners that are matched keeps all of them apart."""


class GroupTable:
    """All rules of a problem as arrays: G groups over S shapes. A clique is a group of owners that are matched."""

    def __init__(self, groups: Sequence[Group], clique: Ints, most: Floats) -> None:
        cliques = [Group(clique == at, clique == at, int(cap)) for at, cap in enumerate(most[:-1])]
        every = [*cliques, *groups]
        shape = len(every), len(clique)
        self.owners = np.array([group.owners for group in every], dtype=np.bool_).reshape(shape).T.copy()
        self.matched = np.array([group.matched for group in every], dtype=np.bool_).reshape(shape).T.copy()
        self.cap = np.array([group.cap for group in every], dtype=np.float64)

    def __len__(self) -> int:
        return len(self.cap)

    def allow(self, copies: Ints) -> Bools:
        """Return which loads (n×S) keep all rules."""
        held, owned = copies @ self.matched, copies @ self.owners
        kept: Bools = np.all((owned == 0) | (held <= self.cap), axis=1)
        return kept

    def limit(self, owners: Bools, matched: Bools, *, spare: Floats, owned: Bools) -> Floats:
        """Return how many copies of a shape each of n machines takes more (n); infinite when no rule speaks of it.

        `owners` and `matched` are the shapes' rows of the table, `spare` what is left of each cap on the machines, and
        `owned` says where owners are (all n×G).
        """
        caps = np.where(matched, np.maximum(spare, 0.0), np.where(spare >= 0, np.inf, 0.0))
        binding = owners | (matched & owned)
        return np.asarray(np.where(binding, caps, np.inf).min(axis=1, initial=np.inf))
