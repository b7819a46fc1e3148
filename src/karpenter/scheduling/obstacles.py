"""How other pods keep a pod pending: spread, company, distance and host ports, in words with counts and holders.

Source: spec v1alpha5 §2.8, §2.9, §2.11; cases WHY-PENDING.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from karpenter.model.core import Pod
from karpenter.model.labels import HOSTNAME
from karpenter.model.pods import host_ports
from karpenter.scheduling.bins import Bins
from karpenter.scheduling.classes import Port, Profile, clash
from karpenter.scheduling.dealing import DomainRules, DomainTie
from karpenter.scheduling.hosts import HostRules
from karpenter.scheduling.items import Wait

_MOST_DOMAINS: Final = 6
"""Domains that are listed one by one."""
_CODES: Final = {"spread": "TopologySpread", "affinity": "PodAffinity", "anti": "PodAntiAffinity"}


@dataclass(frozen=True, slots=True)
class Obstacle:
    """One rule about other pods that cannot be kept."""

    code: str
    message: str
    subject: str
    """The label key of the rule, or the port."""


@dataclass(frozen=True, slots=True)
class Obstacles:
    """Says which rules about other pods stand in the way, for the state at the end of a solve."""

    bins: Bins
    domains: DomainRules
    hosts: HostRules
    profiles: tuple[Profile, ...]

    def of(self, wait: Wait) -> tuple[Obstacle, ...]:
        """Return what keeps copies from the places that resources, labels and limits would leave them."""
        found = [self._domain(wait, tie) for tie in self.domains.of(wait)]
        found += self._hosts(wait)
        return tuple(dict.fromkeys(obstacle for obstacle in found if obstacle is not None))

    # --- domains ------------------------------------------------------------------------------------------------------

    def _domain(self, wait: Wait, tie: DomainTie) -> Obstacle | None:
        """Return why a rule leaves no domain; None when it leaves one that could take a copy."""
        group, term = tie.group, tie.group.term
        rule = wait.levels[wait.at].rule
        there = self.domains.map.of_nodes(rule, term.key) | self.domains.map.of_columns(rule, term.key)
        reached = {name for name in there if self.domains.reach(wait, rule.within({term.key: name}))}
        admitted = {name for name in there if group.admits(name, owner=tie.owner, meant=tie.meant)}
        if reached & admitted:
            return None
        counted = {name: group.count.get(name, 0) for name in sorted(there | group.universe | set(group.count))}
        shown = _listed([f"{name} has {count}" for name, count in counted.items()])
        match term.kind:
            case "spread":
                few = ""
                if len(group.universe) < term.min_domains:
                    few = f", of which there are fewer than the {term.min_domains} asked for (minDomains)"
                words = f"{term} allows a skew of {term.max_skew}{few}: {shown}"
            case "affinity":
                where = shown if any(counted.values()) else "there is none at all"
                words = f"{term} wants a pod near that is nowhere it could go: {where}"
            case _ if tie.owner:
                words = f"{term} wants a domain without such pods: {shown}"
            case _:
                held = _listed(sorted(name for name, count in group.owned.items() if count))
                return Obstacle("KeptOffByPods", f"{term} of other pods keeps it out of {held}", term.key)
        if admitted and term.kind == "spread":
            words += f"; it allows {_listed(sorted(admitted))}, but nothing can take it there"
        return Obstacle(_CODES[term.kind], words, term.key)

    # --- hosts --------------------------------------------------------------------------------------------------------

    def _hosts(self, wait: Wait) -> Iterator[Obstacle | None]:
        item = wait.item(1)
        fresh = slice(self.bins.size, self.bins.size + 1)
        for tie in self.hosts.of(item):
            rule = self.hosts.groups[tie.group]
            if rule.kind != "affinity" or not tie.owner or rule.room(fresh, owner=True, meant=tie.meant)[0] > 0:
                continue
            places = int(rule.has(slice(0, self.bins.size)).sum())
            words = "pod affinity over kubernetes.io/hostname wants the node of another pod: "
            yield Obstacle(
                "PodAffinity",
                words + (f"{places} have one, none of them has room" if places else "there is no such pod on any node"),
                HOSTNAME,
            )
        yield from self._ports(wait)

    def _ports(self, wait: Wait) -> Iterator[Obstacle]:
        """Yield the host ports that somebody holds on the nodes that would have room for a copy."""
        for port in self.profiles[wait.cls.profile].ports:
            holders = self._holders(wait, port)
            if holders:
                words = f"host port {shown_port(port)} is taken by {_listed(holders)}"
                yield Obstacle("HostPortTaken", words, shown_port(port))

    def _holders(self, wait: Wait, port: Port) -> list[str]:
        """Return who holds a port on the nodes that would hold a copy otherwise."""
        nodes = self.bins.nodes
        room = (self.bins.room[: len(nodes)] >= wait.request).all(axis=1) & nodes.row(wait.levels[wait.at].rule)
        found: list[str] = []
        for row in np.flatnonzero(room):
            holder = next((pod for pod in self._pods_on(int(row)) if _holds(pod, port)), None)
            if holder is not None:
                found.append(f"{holder.metadata.key} on {nodes.views[row].name}")
        return found

    def _pods_on(self, row: int) -> Sequence[Pod]:
        placed = [pod for share in self.bins.shares[row] for pod in share.item.cls.pods[:1]]
        return [*self.bins.nodes.views[row].pods, *placed]


def shown_port(port: Port) -> str:
    """Return a host port in words: its address too, unless it is every address."""
    address, number, protocol = port
    where = "" if address in {"0.0.0.0", "::"} else f" of {address}"  # noqa: S104 - compared, never bound
    return f"{number}/{protocol}{where}"


def _holds(pod: Pod, port: Port) -> bool:
    taken = host_ports((*pod.spec.containers, *pod.spec.init_containers))
    return any(clash(port, other) for other in taken)


def _listed(words: Sequence[str]) -> str:
    more = f" and {len(words) - _MOST_DOMAINS} more" if len(words) > _MOST_DOMAINS else ""
    return ", ".join(words[:_MOST_DOMAINS]) + more
