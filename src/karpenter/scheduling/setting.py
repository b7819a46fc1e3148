"""The input of a solve in the solver's own form: classes and their levels, nodes, columns, budget, rules about pods."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from karpenter.model.labels import HOSTNAME, WELL_KNOWN
from karpenter.model.requirements import Requirement, Requirements
from karpenter.model.resources import CPU, MEMORY, PODS, Resources
from karpenter.model.taints import PREFER_NO_SCHEDULE
from karpenter.scheduling.bins import Bins
from karpenter.scheduling.bounding import (
    Start,
    Statement,
    placed_items,
    statement_of,
    under_rails,
    without_rails,
)
from karpenter.scheduling.catalog import ATTACHED, PLACE_KEYS, Bools, Floats, Ints
from karpenter.scheduling.census import census_of, keys_of_the_bound
from karpenter.scheduling.choosing import Chooser
from karpenter.scheduling.classes import Grouping, PodClass, Surroundings, group
from karpenter.scheduling.columns import Columns, columns_of
from karpenter.scheduling.daemons import Daemon, daemons_of, load_of
from karpenter.scheduling.defaults import Defaults
from karpenter.scheduling.demand import Demand
from karpenter.scheduling.enlarging import Enlarger
from karpenter.scheduling.filling import FULL, filled
from karpenter.scheduling.grow import Grower
from karpenter.scheduling.items import Wait
from karpenter.scheduling.lanes import lanes_of
from karpenter.scheduling.launch import Launcher
from karpenter.scheduling.limits import Budget, budget_of
from karpenter.scheduling.machines import Machines
from karpenter.scheduling.nodes import Nodes, nodes_of
from karpenter.scheduling.obstacles import Obstacles
from karpenter.scheduling.policy import Options, Policy
from karpenter.scheduling.preferences import policy_for
from karpenter.scheduling.rails.size import sizes_of
from karpenter.scheduling.rails.workload import workload_shares
from karpenter.scheduling.reasons import Judge
from karpenter.scheduling.reporter import Reporter, unheard
from karpenter.scheduling.rules import Level, NodeRule, levels_of, required_rule
from karpenter.scheduling.settling import Settler
from karpenter.scheduling.sharing import SharedVolumes
from karpenter.scheduling.snapshot import PoolView, Snapshot
from karpenter.scheduling.stores import stores_of
from karpenter.scheduling.terms import Term, terms_of
from karpenter.scheduling.topology import Scene, rules_of
from karpenter.scheduling.work import Work


class Setting:
    """The input of a solve in the solver's own form."""

    def __init__(self, snapshot: Snapshot, demand: Demand, options: Options, *, fill: float = FULL) -> None:
        self.options = options
        self._snapshot = snapshot
        self._may_launch = demand.fulfilment != "check-only"
        self._well_known = WELL_KNOWN | snapshot.well_known
        self._nodes = nodes_of(snapshot.nodes)
        self._stores = stores_of(snapshot, demand.pods, self._nodes.views)
        visible = keys_of_the_bound(self._nodes)
        defaults = Defaults.of(
            snapshot, options.policy.default_spread, workload_shares(options.policy, snapshot, demand.pods)
        )
        surroundings = Surroundings(self._stores, defaults, self._nodes.hostnames)
        self.grouping = group(demand.pods, surroundings, visible=visible)
        self.ladders = _ladders(self.grouping, snapshot, options.policy)
        self._daemons = daemons_of(snapshot)
        columns = self._make_columns(options.policy)
        asked = (
            (self.ladders[cls.profile][-1].rule, _request(cls, columns.resources)) for cls in self.grouping.classes
        )
        self._columns = filled(columns, fill, asked)
        self._budget = budget_of(self._columns, max_nodes=options.max_nodes)

    @property
    def has_limits(self) -> bool:
        """Whether anything bounds what may be launched."""
        return bool(self._budget.names)

    def judge(self, work: Work) -> Judge:
        """Return who says why, for the state in which the solve ended."""
        profiles = self.grouping.profiles
        return Judge(
            self._snapshot,
            self._daemons,
            self._budget,
            self._well_known,
            profiles,
            self.options.policy,
            Obstacles(work.bins, work.domains, work.hosts, profiles),
        )

    def _make_columns(self, policy: Policy) -> Columns:
        demands = [term for ladder in self.ladders for level in ladder for term in level.rule.terms]
        demands += _domain_demands(self.ladders, self._snapshot.pools)
        demands += _filter_demands(self.ladders)
        asked = tuple(dict.fromkeys(demands))
        lanes = lanes_of(self._snapshot.pools, asked, well_known=self._well_known, reservations=policy.reservations)
        return columns_of(
            lanes,
            _resources(self.grouping.classes, self._daemons),
            [load_of(lane, self._daemons, well_known=self._well_known) for lane in lanes],
            well_known=self._well_known,
            most_pods=policy.max_pods_per_node if policy.rails else None,
            keeps_min_values=policy.min_values == "Strict",
            performance=dict(policy.performance),
        )

    def work(self, reporter: Reporter | None) -> Work:
        """Return the state in which the solve begins."""
        nodes, columns, budget = self._nodes, self._columns, self._budget
        room = self._room()
        wants_ports = any(profile.ports for profile in self.grouping.profiles)
        census = census_of(nodes, self.grouping, namespaces=self._snapshot.namespaces, wants_ports=wants_ports)

        reach = _Reach(room, nodes, columns, budget)
        scene = Scene(nodes, columns, self._daemons, census)
        domains, hosts = rules_of(self.grouping, self.ladders, scene, reach=reach)
        self._start = Start.of(room, budget)
        volumes = SharedVolumes.of(self._stores, columns.resources)
        bins = reach.bins = Bins(nodes, columns, room, constraints=(hosts,), volumes=volumes)
        waits = self._waits(columns.resources)
        sizes = sizes_of(columns, waits, nodes=nodes, room=room, policy=self.options.policy)
        machines = Machines(columns, budget, sizes)
        fee = self.options.policy.node_fee
        progress = unheard if reporter is None else reporter.progress
        work = Work(
            bins=bins,
            waits=waits,
            domains=domains,
            hosts=hosts,
            launcher=Launcher(bins, budget, hosts, sizes, fee, self.options.rounds, progress),
            grower=Grower(bins, machines, Enlarger(bins, machines, budget), budget, hosts, sizes, fee),
            machines=machines,
            chooser=Chooser(
                columns,
                budget,
                machines,
                policy=self.options.policy,
                most_types=self.options.max_instance_types,
            ),
            reporter=reporter,
            progress=progress,
        )
        nominated = [wait for wait in work.waits if self.grouping.profile(wait.cls).nominated]
        if nominated:
            leaving = nodes.leaving(columns.resources)
            self._start = Start.of(room + leaving, budget)
            work.keep_nominated(nominated, leaving)
        return work

    def settler(self, work: Work) -> Settler:
        """Return who decides what each machine is to be, for the state in which the solve ended."""
        return Settler(work.chooser, self.options.policy)

    def statements(self, work: Work) -> tuple[Statement, Statement | None]:
        """Return what the lower bound of a solve that launches machines is about, under the rails and without them.

        Without rails there is only the one.
        """
        bins, hosts, tier = work.bins, work.hosts, work.machines.tier
        items = placed_items(bins, work.waits)
        railed = under_rails(bins, items, work.launcher.sizes, hosts=hosts, tier=tier)
        stated = statement_of(bins, items, railed, start=self._start, budget=self._budget, hosts=hosts)
        if not self.options.policy.rails:
            return stated, None
        free = without_rails(bins, tier=tier)
        return stated, statement_of(bins, items, free, start=self._start, budget=self._budget, hosts=hosts)

    def _room(self) -> Floats:
        """Return what is left on each node (B×R), attached volumes included."""
        resources = self._columns.resources
        room = self._nodes.room(resources, self._daemons)
        for at, name in enumerate(resources):
            if name.startswith(ATTACHED):
                left = self._stores.room(self._nodes.views, self._snapshot.pools, name)
                room[:, at] = np.where(room[:, at] < 0, -1.0, left)
        return room

    def _waits(self, resources: Sequence[str]) -> list[Wait]:
        policy = self.options.policy
        return [
            Wait(
                index=at,
                cls=cls,
                levels=self.ladders[cls.profile],
                request=_request(cls, resources),
                left=0 if cls.fault else cls.size,
                may_launch=self._may_launch and not policy.is_expendable(cls.priority),
            )
            for at, cls in enumerate(self.grouping.classes)
        ]


@dataclass(slots=True)
class _Reach:
    """Where there is room for a copy at all; the dealing of domains asks."""

    room: Floats
    """What was left on nodes before anything was planned (B×R)."""
    nodes: Nodes
    columns: Columns
    budget: Budget
    bins: Bins = field(init=False)
    """Machines that are planned may have room where limits let none be launched any more."""
    _machines: tuple[Ints, Bools] = field(init=False)
    _as_of: int = -1

    @property
    def version(self) -> int:
        return self.budget.version

    def __call__(self, wait: Wait, rule: NodeRule) -> bool:
        if wait.may_launch:
            new = self.columns.open_to(rule) & self.columns.holding(wait.request) & self.budget.affords()
            if new.any():
                return True
        if (self.nodes.row(rule) & np.all(self.room >= wait.request, axis=1)).any():
            return True
        if self._as_of != self.version:
            self._as_of, self._machines = self.version, self.bins.machines()
        column, places = self._machines
        holds = self.columns.holding(wait.request)[column]
        return bool((places[holds] & self.columns.row(rule)[column[holds]]).any())


def _ladders(grouping: Grouping, snapshot: Snapshot, policy: Policy) -> list[tuple[Level, ...]]:
    """Return the levels of each profile. Equal rules are one object: looking their masks up compares nothing then."""
    well_known = WELL_KNOWN | snapshot.well_known
    soft = _has_preferred_taints(snapshot)
    rules: dict[NodeRule, NodeRule] = {}
    ladders = (
        levels_of(
            profile,
            terms_of(profile, snapshot.namespaces),
            policy_for(required_rule(profile), snapshot.pools, policy.preferences, well_known=well_known),
            has_preferred_taints=soft,
            waived=policy.waived,
        )
        for profile in grouping.profiles
    )
    return [
        tuple(replace(level, rule=rules.setdefault(level.rule, level.rule)) for level in ladder) for ladder in ladders
    ]


def _has_preferred_taints(snapshot: Snapshot) -> bool:
    on_pools = (taint for view in snapshot.pools for taint in view.pool.template.taints)
    on_nodes = (taint for view in snapshot.nodes for taint in view.taints)
    return any(taint.effect == PREFER_NO_SCHEDULE for taints in (on_pools, on_nodes) for taint in taints)


def _domain_demands(ladders: Sequence[Sequence[Level]], pools: Iterable[PoolView]) -> list[Requirements]:
    """Return a demand for each value that pools allow of a label over which pods are spread or drawn together.

    Asked for like this, every value gets lanes of its own, and so can be a domain (SCH-8).
    """
    keys = {term.key for ladder in ladders for level in ladder for term in level.terms}
    asked: list[Requirements] = []
    for key in sorted(keys - PLACE_KEYS - {HOSTNAME}):
        allowed = [view.pool.node_requirements().allowed(key) for view in pools]
        values = {value for requirement in allowed if not requirement.complement for value in requirement.values}
        asked.extend(Requirements((Requirement.of(key, "In", (value,)),)) for value in sorted(values))
    return asked


def _filter_demands(ladders: Iterable[Sequence[Level]]) -> list[Requirements]:
    """Return, for each label by which a spread chooses the nodes on which it counts, a demand for what it leaves out.

    Without it a machine could come up either way, and nobody could say whether its pods count.
    """
    counting = {
        term
        for ladder in ladders
        if any(_counts_by_labels(term) for level in ladder for term in level.terms)
        for term in ladder[-1].rule.terms
    }
    left_out = {
        Requirement.of(key, "NotIn", requirement.values)
        for term in counting
        for key, requirement in term.items()
        if requirement.operator == "In" and key not in PLACE_KEYS and key != HOSTNAME
    }
    return [Requirements((requirement,)) for requirement in sorted(left_out, key=str)]


def _counts_by_labels(term: Term) -> bool:
    return term.kind == "spread" and not term.is_by_host and term.honors_affinity


def _request(cls: PodClass, resources: Sequence[str]) -> Floats:
    return np.array([cls.requests.get(name, 0) for name in resources], dtype=np.float64)


def _resources(classes: Sequence[PodClass], daemons: Sequence[Daemon]) -> tuple[str, ...]:
    """Return the resources that anybody asks for: the usual ones first, then by name."""
    requests: list[Resources] = [cls.requests for cls in classes] + [daemon.requests for daemon in daemons]
    asked = {name for amounts in requests for name in amounts}
    asked |= {ATTACHED + driver for cls in classes for driver, _ in cls.shared}
    usual = (CPU, MEMORY, PODS)
    return (*usual, *sorted(asked.difference(usual)))
