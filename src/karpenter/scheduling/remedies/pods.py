"""Changes to pods: tolerate a taint, demand less of a node, ask for less, soften what is said about other pods.

What is said about other pods holds both ways, so it is changed for the whole workload, running pods included.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from karpenter.model.core import (
    Affinity,
    Container,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    Pod,
    PodAffinity,
    PodSpec,
    ResourceRequirements,
    WeightedPodAffinityTerm,
)
from karpenter.model.labels import canonical
from karpenter.model.requirements import Requirement
from karpenter.model.resources import CPU, format_amount, parse_resources
from karpenter.model.taints import Taint, Toleration
from karpenter.model.units import PoolKey
from karpenter.scheduling.amounts import shown
from karpenter.scheduling.remedies.change import Candidate, Change, Rank
from karpenter.scheduling.requests import requests_of

_replace = msgspec.structs.replace
_SIDES: Final = {"affinity": "pod affinity", "anti": "pod anti-affinity"}
_HEAVIEST: Final = 100
_MILLION_CORES: Final = 10**9
"""A million cores, in millicores."""


def tolerate(taints: Sequence[Taint], pool: PoolKey) -> Candidate:
    """Return the change by which pods tolerate taints of a pool."""
    named = ", ".join(map(str, taints))
    added = tuple(
        Toleration(key=taint.key, operator="Equal" if taint.value else "Exists", value=taint.value, effect=taint.effect)
        for taint in taints
    )
    change = Change("pod", "Tolerate", named, "", named, f"let it tolerate {named}, the taint of {pool}")
    return Candidate(
        change,
        Rank.PERMISSION,
        lambda world: world.with_pods(lambda pod: _replace(pod.spec, tolerations=(*pod.spec.tolerations, *added))),
    )


def rename_label(wrong: str, right: str) -> Candidate:
    """Return the change of a label key in what pods demand of their node."""
    change = Change("pod", "RenameLabel", wrong, wrong, right, f"write {right} instead of {wrong} in its node selector")
    return Candidate(change, Rank.SLIP, lambda world: world.with_pods(lambda pod: _with_key(pod.spec, wrong, right)))


def drop_label(demand: Requirement) -> Candidate:
    """Return the change by which pods demand nothing of a label of their node."""
    message = f"drop its demand for {demand}"
    change = Change("pod", "DropLabel", demand.key, str(demand), "", message)
    return Candidate(change, Rank.POD, lambda world: world.with_pods(lambda pod: _with_key(pod.spec, demand.key, None)))


def _with_key(spec: PodSpec, wrong: str, right: str | None) -> PodSpec:
    """Return the spec with a label key renamed, or left out, wherever it demands something of the node."""
    selector = {right if canonical(key) == wrong else key: value for key, value in spec.node_selector.items()}
    kept = {key: value for key, value in selector.items() if key is not None}
    spec = _replace(spec, node_selector=kept)
    affinity = spec.affinity
    if affinity is None or affinity.node_affinity is None or affinity.node_affinity.required is None:
        return spec
    terms = tuple(_term_with(term, wrong, right) for term in affinity.node_affinity.required.node_selector_terms)
    # A term that says nothing any more would match no node: then one of the alternatives is always met.
    is_met = any(not term.match_expressions and not term.match_fields for term in terms)
    near = NodeAffinity(None if is_met else NodeSelector(terms), affinity.node_affinity.preferred)
    return _replace(spec, affinity=_replace(affinity, node_affinity=near))


def _term_with(term: NodeSelectorTerm, wrong: str, right: str | None) -> NodeSelectorTerm:
    found = (
        (right if canonical(expression.key) == wrong else expression.key, expression)
        for expression in term.match_expressions
    )
    kept = tuple(_replace(expression, key=key) for key, expression in found if key is not None)
    return NodeSelectorTerm(kept, term.match_fields)


def lower_request(resource: str, amount: int, *, asked: int, where: str) -> Candidate:
    """Return the change by which no pod asks for more than an amount; `where` says what that is."""
    before, after = shown(resource, asked), shown(resource, amount)
    message = f"ask for at most {after} {resource} instead of {before}, {where}"
    if not amount:
        after, message = "", f"ask for no {resource}"
    change = Change("pod", "LowerRequest", resource, before, after, message)
    return Candidate(change, Rank.SIZE, lambda world: world.with_pods(lambda pod: _asking_less(pod, resource, amount)))


def mend_millions(asked: int) -> Candidate:
    """Return the change of a CPU request that was written in millions (`M`) and meant in thousandths (`m`)."""
    meant = max(1, asked // _MILLION_CORES)
    message = f"write {meant}m instead of {meant}M as its cpu request"
    change = Change("pod", "LowerRequest", CPU, shown(CPU, asked), shown(CPU, meant), message)
    return Candidate(change, Rank.SLIP, lambda world: world.with_pods(lambda pod: _asking_less(pod, CPU, meant)))


def _asking_less(pod: Pod, resource: str, amount: int) -> PodSpec:
    if requests_of(pod).get(resource, 0) <= amount:
        return pod.spec
    # What the pod as a whole requests replaces the sum of its containers; overhead is added to either.
    extra = parse_resources(pod.spec.overhead).get(resource, 0)
    whole = pod.spec.resources or ResourceRequirements()
    requests = {**whole.requests, resource: format_amount(resource, max(0, amount - extra))}
    return _replace(pod.spec, resources=_replace(whole, requests=requests))


def relax_spread(key: str) -> Candidate:
    """Return the change by which pods merely prefer to be spread over a label."""
    message = f"make its topology spread over {key} ScheduleAnyway"
    change = Change("pod", "RelaxSpread", key, "DoNotSchedule", "ScheduleAnyway", message)

    def relaxed(pod: Pod) -> PodSpec:
        constraints = tuple(
            _replace(each, when_unsatisfiable="ScheduleAnyway", min_domains=None)
            if canonical(each.topology_key) == key
            else each
            for each in pod.spec.topology_spread_constraints
        )
        return _replace(pod.spec, topology_spread_constraints=constraints)

    return Candidate(change, Rank.POD, lambda world: world.with_workload(relaxed))


def drop_min_domains(key: str, asked: int) -> Candidate:
    """Return the change by which a spread does not insist on so many domains."""
    message = f"drop minDomains {asked} of its topology spread over {key}"
    change = Change("pod", "DropMinDomains", key, str(asked), "", message)

    def dropped(pod: Pod) -> PodSpec:
        constraints = tuple(
            _replace(each, min_domains=None) if canonical(each.topology_key) == key else each
            for each in pod.spec.topology_spread_constraints
        )
        return _replace(pod.spec, topology_spread_constraints=constraints)

    return Candidate(change, Rank.POD, lambda world: world.with_workload(dropped))


def prefer_only(kind: str, key: str) -> Candidate:
    """Return the change by which a required rule of company (`affinity`) or distance (`anti`) is a preference."""
    words = f"{_SIDES[kind]} over {key}"
    change = Change("pod", "RelaxAffinity", key, "required", "preferred", f"make its {words} preferred, not required")

    def softened(pod: Pod) -> PodSpec:
        affinity = pod.spec.affinity or Affinity()
        if kind == "affinity":
            softer = _replace(affinity, pod_affinity=_softened(affinity.pod_affinity, key))
        else:
            softer = _replace(affinity, pod_anti_affinity=_softened(affinity.pod_anti_affinity, key))
        return _replace(pod.spec, affinity=softer)

    return Candidate(change, Rank.POD, lambda world: world.with_workload(softened))


def _softened(side: PodAffinity | None, key: str) -> PodAffinity | None:
    if side is None:
        return None
    soft = tuple(term for term in side.required if canonical(term.topology_key) == key)
    return PodAffinity(
        required=tuple(term for term in side.required if term not in soft),
        preferred=(*side.preferred, *(WeightedPodAffinityTerm(_HEAVIEST, term) for term in soft)),
    )


def free_port(port: int, named: str) -> Candidate:
    """Return the change by which pods take no such host port."""
    message = f"drop host port {named}, or reach the pods through a Service"
    change = Change("pod", "FreePort", named, named, "", message)

    def freed(pod: Pod) -> PodSpec:
        return _replace(
            pod.spec,
            containers=tuple(_without_port(each, port) for each in pod.spec.containers),
            init_containers=tuple(_without_port(each, port) for each in pod.spec.init_containers),
        )

    return Candidate(change, Rank.POD, lambda world: world.with_workload(freed))


def _without_port(container: Container, port: int) -> Container:
    ports = tuple(_replace(each, host_port=0) if each.host_port == port else each for each in container.ports)
    return _replace(container, ports=ports)


def raise_priority(now: int, least: int) -> Candidate:
    """Return the change by which pods are worth a machine."""
    message = f"give it a priority of at least {least}"
    change = Change("pod", "RaisePriority", "priority", str(now), str(least), message)
    return Candidate(change, Rank.POD, lambda world: world.with_pods(lambda pod: _replace(pod.spec, priority=least)))
