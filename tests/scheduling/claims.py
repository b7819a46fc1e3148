"""Judges planned claims against their pools and types, for every machine that the cloud may give for them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from karpenter.model import labels
from karpenter.model.core import Pod
from karpenter.model.instancetype import InstanceType, Offering
from karpenter.model.pods import pod_requests
from karpenter.model.requirements import Requirement, Requirements
from karpenter.scheduling import ClaimPlan, Options, PoolView, Snapshot
from tests.scheduling.acceptance import runs_on, unwelcome
from tests.scheduling.amounts import daemon_requests, total
from tests.scheduling.homes import Shape, Shapes

COMES_UP = {labels.REGISTERED: "true", labels.INITIALIZED: "true"}
DECIDED = frozenset((labels.ZONE, labels.CAPACITY_TYPE, labels.INSTANCE_TYPE))
"""Labels that an offering decides, whatever the claim leaves open."""
ITS_OWN = "(its own)"
"""The host name of a machine that is not there yet."""


@dataclass(eq=False)
class Mould:
    """What claims of one pool with the same requirements, types and places apart, make of each type."""

    snapshot: Snapshot
    view: PoolView
    requirements: Requirements
    _opened: dict[str, dict[str, Requirement]] = field(default_factory=dict)
    _shapes: dict[tuple[str, str, str], Shape] = field(default_factory=dict)
    _outside: dict[int, bool] = field(default_factory=dict)

    def shape(self, kind: InstanceType, *, zone: str, capacity_type: str) -> Shape:
        """Return the machine of a type in a place."""
        known = kind.name, zone, capacity_type
        if known not in self._shapes:
            given = self._labels(kind, {labels.ZONE: zone, labels.CAPACITY_TYPE: capacity_type})
            if kind.name not in self._opened:
                self._opened[kind.name] = self._open_labels(kind)
            taints = self.view.pool.template.taints
            opened = self._opened[kind.name]
            daemons = tuple(pod for pod in self.snapshot.daemons if runs_on(pod, {**given, **COMES_UP}, taints, opened))
            self._shapes[known] = Shape(given, opened, kind, daemons)
        return self._shapes[known]

    def _labels(self, kind: InstanceType, place: Mapping[str, str]) -> dict[str, str]:
        """Return the labels that a machine of this type and place will surely have."""
        sure = {
            key: next(iter(requirement.values))
            for requirements in (self.requirements, kind.requirements)
            for key, requirement in requirements.items()
            if not requirement.complement and len(requirement.values) == 1
        }
        pool = dict([self.view.pool.identity]) | dict(self.view.pool.template.labels)
        return {**sure, **pool, labels.INSTANCE_TYPE: kind.name, **place, labels.HOSTNAME: ITS_OWN}

    def _open_labels(self, kind: InstanceType) -> dict[str, Requirement]:
        """Return the labels for which the machine may get one of several values."""
        opened = {}
        for key in {*self.requirements, *kind.requirements} - DECIDED:
            both = self.requirements.allowed(key).intersect(kind.requirements.allowed(key))
            if both.complement or len(both.values) > 1:
                opened[key] = both
        return opened

    def is_outside(self, shape: Shape) -> bool:
        """Return whether a machine has a label that the pool does not allow."""
        if id(shape) not in self._outside:
            allowed = self.view.pool.template.requirements
            self._outside[id(shape)] = any(
                not allowed.allowed(key).allows(value) for key, value in shape.labels.items()
            )
        return self._outside[id(shape)]


@dataclass(eq=False)
class Machines:
    """What claims of one pool with the same types and requirements may turn out to be."""

    mould: Mould
    requirements: Requirements
    kinds: Sequence[InstanceType]
    _welcome: dict[str, list[tuple[str, str]]] = field(default_factory=dict)

    @property
    def view(self) -> PoolView:
        return self.mould.view

    @cached_property
    def possible(self) -> list[tuple[InstanceType, Offering]]:
        """The offerings that the cloud may choose."""
        zone, capacity_type = (self.requirements.allowed(key) for key in (labels.ZONE, labels.CAPACITY_TYPE))
        return [
            (kind, offering)
            for kind in self.kinds
            for offering in kind.offerings
            if offering.available and zone.allows(offering.zone) and capacity_type.allows(offering.capacity_type)
        ]

    @cached_property
    def shapes(self) -> Shapes:
        """A shape for each of `possible`."""
        return Shapes([self.mould.shape(k, zone=o.zone, capacity_type=o.capacity_type) for k, o in self.possible])

    def unwelcome(self, pod: Pod) -> list[tuple[str, str]]:
        """Return as which machine and why the claim would not take the pod."""
        spec = pod.spec
        known = repr(
            (sorted(spec.node_selector.items()), spec.affinity and spec.affinity.node_affinity, spec.tolerations)
        )
        if known not in self._welcome:
            taints = self.view.pool.template.taints
            self._welcome[known] = [
                (called(shape), why)
                for shape in self.shapes.each
                for why in unwelcome(pod, shape.labels, taints, shape.opened)
            ]
        return self._welcome[known]

    @cached_property
    def outside(self) -> list[str]:
        """Machines whose labels the pool does not allow."""
        return [called(shape) for shape in self.shapes.each if self.mould.is_outside(shape)]

    @cached_property
    def loads(self) -> list[tuple[str, InstanceType, dict[str, int]]]:
        """Each machine with what its daemons take; those of one type with equal daemons only once."""
        found: dict[tuple[object, ...], tuple[str, InstanceType, dict[str, int]]] = {}
        for shape in self.shapes.each:
            assert shape.kind is not None
            daemons = total(daemon_requests(self.mould.snapshot, daemon) for daemon in shape.daemons)
            known = shape.kind.name, *sorted(daemons.items())
            found.setdefault(known, (called(shape), shape.kind, daemons))
        return list(found.values())

    @cached_property
    def cheapest(self) -> list[float | None]:
        """The lowest price of each type, in the order of the types; None for one that cannot be had."""
        prices: dict[str, float] = {}
        for kind, offering in self.possible:
            prices[kind.name] = min(offering.price, prices.get(kind.name, offering.price))
        return [prices.get(kind.name) for kind in self.kinds]

    @cached_property
    def values(self) -> Mapping[str, frozenset[str]]:
        """The values that machines may have of each label for which the pool states minValues."""
        found: dict[str, frozenset[str]] = {}
        for key, requirement in self.view.pool.node_requirements().items():
            if requirement.min_values is None:
                continue
            if key in {labels.ZONE, labels.CAPACITY_TYPE}:
                places = (o.zone if key == labels.ZONE else o.capacity_type for _, o in self.possible)
                found[key] = frozenset(places)
            else:
                kinds = {kind.name: kind for kind, _ in self.possible}.values()
                stated = (value for kind in kinds for value in kind.requirements[key].values)
                found[key] = frozenset(value for value in stated if requirement.allows(value))
        return found


def called(shape: Shape) -> str:
    assert shape.kind is not None
    return f"{shape.kind.name} in {shape.labels[labels.ZONE]} ({shape.labels[labels.CAPACITY_TYPE]})"


class Fleet:
    """The machines of all claims of a solution; equal claims have the same."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._pools = {view.pool.key: view for view in snapshot.pools}
        self._kinds = {key: {kind.name: kind for kind in view.instance_types} for key, view in self._pools.items()}
        self._moulds: dict[object, Mould] = {}
        self._known: dict[object, Machines] = {}

    def of(self, plan: ClaimPlan) -> Machines:
        """Return what a claim may turn out to be."""
        known = plan.pool, plan.instance_types, tuple(sorted(plan.requirements.items()))
        if known not in self._known:
            kinds = [self._kinds[plan.pool][name] for name in plan.instance_types]
            self._known[known] = Machines(self._mould(plan), plan.requirements, kinds)
        return self._known[known]

    def _mould(self, plan: ClaimPlan) -> Mould:
        rest = Requirements(requirement for key, requirement in plan.requirements.items() if key not in DECIDED)
        known = plan.pool, tuple(sorted(rest.items()))
        if known not in self._moulds:
            self._moulds[known] = Mould(self._snapshot, self._pools[plan.pool], rest)
        return self._moulds[known]


def breaches(plan: ClaimPlan, machines: Machines, options: Options) -> Iterator[str]:
    """Yield what is wrong with one claim."""
    if not plan.pods:
        yield f"{plan.name}: no pods"
    listed = len(plan.instance_types)
    if len(set(plan.instance_types)) != listed or listed > options.max_instance_types:
        yield f"{plan.name}: {listed} types listed, {len(set(plan.instance_types))} different"
    if plan.instance_type != plan.instance_types[0]:
        yield f"{plan.name}: plans {plan.instance_type}, lists {plan.instance_types[0]} first"
    yield from _prices(plan, machines)
    yield from _policy(plan, options)
    yield from _min_values(plan, machines, strict=options.policy.min_values == "Strict")
    yield from _sizes(plan, machines)
    yield from (f"{plan.name} as {name}: outside of the pool's requirements" for name in machines.outside)
    for pod in plan.pods:
        for name, why in machines.unwelcome(pod):
            yield f"{pod.metadata.key} on {plan.name} as {name}: {why}"


def _policy(plan: ClaimPlan, options: Options) -> Iterator[str]:
    least = options.policy.expendable_priority
    if least is not None and all((pod.spec.priority or 0) < least for pod in plan.pods):
        yield f"{plan.name}: only for pods that are not worth a machine"
    if options.policy.rails and len(plan.pods) > options.policy.max_pods_per_node:
        yield f"{plan.name}: {len(plan.pods)} pods"


def _sizes(plan: ClaimPlan, machines: Machines) -> Iterator[str]:
    needs = total(map(pod_requests, plan.pods))
    planned = False
    for where, kind, daemons in machines.loads:
        for name in needs.keys() | daemons.keys():
            wanted = needs.get(name, 0) + daemons.get(name, 0)
            if wanted > kind.allocatable.get(name, 0):
                yield f"{plan.name} as {where}: {name} {wanted} > {kind.allocatable.get(name, 0)}"
        if kind.name == plan.instance_type and not planned:
            planned = True
            if dict(plan.requests) != total((needs, daemons)):
                yield f"{plan.name} as {where}: requests say {dict(plan.requests)}, not {total((needs, daemons))}"


def _min_values(plan: ClaimPlan, machines: Machines, *, strict: bool) -> Iterator[str]:
    """Yield labels of which the claim's types offer fewer values than the pool's minValues ask for."""
    fewer = False
    wanted = machines.view.pool.node_requirements()
    for key, values in machines.values.items():
        least = wanted[key].min_values or 0
        if len(values) < least:
            fewer = True
            if strict:
                yield f"{plan.name}: {len(values)} values of {key}, wanted {least}"
        if plan.requirements[key].min_values != min(least, max(1, len(values))):
            yield f"{plan.name}: asks for {plan.requirements[key].min_values} values of {key}, has {len(values)}"
    if plan.min_values_relaxed != fewer:
        yield f"{plan.name}: says that minValues were relaxed: {plan.min_values_relaxed}"


def _prices(plan: ClaimPlan, machines: Machines) -> Iterator[str]:
    place = plan.instance_type, plan.zone, plan.capacity_type
    planned = [o.price for kind, o in machines.possible if (kind.name, o.zone, o.capacity_type) == place]
    if not planned or min(planned) != plan.price:
        yield f"{plan.name}: planned at {plan.price}, offered at {planned}"
    prices = [price for price in machines.cheapest if price is not None]
    if len(prices) < len(plan.instance_types):
        yield f"{plan.name}: lists a type that cannot be had"
        return
    if prices != sorted(prices):
        yield f"{plan.name}: types are not listed cheapest first"
    # The cloud is asked for one capacity type: what is reserved before spot, spot before on-demand.
    order = ["reserved", "spot", "on-demand"]
    asked_for = min((offering.capacity_type for _, offering in machines.possible), key=order.index)
    offered = [offering.price for _, offering in machines.possible if offering.capacity_type == asked_for]
    if plan.worst_price != max(offered):
        yield f"{plan.name}: worst price said to be {plan.worst_price}"
    if not min(offered) <= plan.expected_price * (1 + 1e-9) <= max(offered) * (1 + 2e-9):
        yield f"{plan.name}: expected price said to be {plan.expected_price}, of {sorted(offered)}"
