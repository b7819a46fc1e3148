"""Which nodes a DaemonSet's pods belong on, and the pod for one node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from karpenter.model import core
from karpenter.model.core import Node, Pod
from karpenter.model.meta import ObjectMeta
from karpenter.model.taints import NO_EXECUTE, NO_SCHEDULE, Taint
from karpenter.runtime.kube import RawObject
from karpenter.sim.controllers.templates import controlled_by, pod_from, template_hash, template_labels, with_labels
from karpenter.sim.kinds import DAEMON_SETS, DaemonSet
from karpenter.sim.scheduler.nodefilters import first_untolerated, matches_node
from karpenter.sim.scheduler.nodeinfo import NodeInfo
from karpenter.sim.scheduler.podfacts import PodFacts, facts_of

REVISION_HASH: Final = "controller-revision-hash"
_GENERATION: Final = "deprecated.daemonset.template.generation"
_TEMPLATE_GENERATION: Final = "pod-template-generation"
_ALWAYS_TOLERATED: Final = (
    ("node.kubernetes.io/not-ready", NO_EXECUTE),
    ("node.kubernetes.io/unreachable", NO_EXECUTE),
    ("node.kubernetes.io/disk-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/memory-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/pid-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/unschedulable", NO_SCHEDULE),
)
_NETWORK: Final = ("node.kubernetes.io/network-unavailable", NO_SCHEDULE)


@dataclass(frozen=True, slots=True)
class DaemonPlan:
    """What a DaemonSet wants everywhere, worked out once for all nodes."""

    facts: PodFacts
    template: RawObject
    """With the standard tolerations and the labels of its revision."""
    revision: str


def plan_for(daemon_set: DaemonSet) -> DaemonPlan:
    """Return what a DaemonSet wants on each node. Raises ValueError when its template has an amount that is none."""
    revision = template_hash(daemon_set.spec.template)
    generation = daemon_set.metadata.annotations.get(_GENERATION) or str(daemon_set.metadata.generation or 1)
    labels = {REVISION_HASH: revision, _TEMPLATE_GENERATION: generation}
    template = _tolerant(with_labels(daemon_set.spec.template, labels))
    spec = msgspec.convert(template.get("spec") or {}, core.PodSpec)
    metadata = ObjectMeta(
        name=daemon_set.metadata.name, namespace=daemon_set.metadata.namespace, labels=template_labels(template)
    )
    return DaemonPlan(facts_of(Pod(metadata, spec)), template, revision)


def _tolerant(template: RawObject) -> RawObject:
    spec = template.get("spec") or {}
    pairs = (*_ALWAYS_TOLERATED, *((_NETWORK,) if spec.get("hostNetwork") else ()))
    added = [{"key": key, "operator": "Exists", "effect": effect} for key, effect in pairs]
    given = list(spec.get("tolerations") or [])
    return {**template, "spec": {**spec, "tolerations": given + [one for one in added if one not in given]}}


@dataclass(frozen=True, slots=True)
class Belonging:
    """Whether a daemon belongs on a node."""

    should_run: bool
    """A pod is to be created."""
    may_stay: bool
    """A pod that is there is left there."""


def belongs(plan: DaemonPlan, node: Node) -> Belonging:
    """Return whether a DaemonSet's pod belongs on a node. A taint drives out those there by `NoExecute` only."""
    info = NodeInfo(node.metadata.name, labels=node.metadata.labels)
    if not matches_node(plan.facts, info):
        return Belonging(should_run=False, may_stay=False)
    taint = first_untolerated(_taints(node), plan.facts.tolerations)
    evicting = first_untolerated((one for one in _taints(node) if one.effect == NO_EXECUTE), plan.facts.tolerations)
    return Belonging(should_run=taint is None, may_stay=evicting is None)


def _taints(node: Node) -> tuple[Taint, ...]:
    cordon = Taint(key="node.kubernetes.io/unschedulable", effect=NO_SCHEDULE)
    return (*node.spec.taints, cordon) if node.spec.unschedulable else node.spec.taints


def daemon_pod(daemon_set: DaemonSet, plan: DaemonPlan, node: str) -> RawObject:
    """Return the manifest of a DaemonSet's pod for one node: tied to it by affinity, bound by the scheduler."""
    owner = controlled_by(DAEMON_SETS, daemon_set.metadata)
    namespace, name = daemon_set.metadata.key
    pod = pod_from(plan.template, owner, namespace=namespace, generate_name=f"{name}-")
    return {**pod, "spec": {**pod["spec"], "affinity": _tied_to(pod["spec"].get("affinity") or {}, node)}}


def _tied_to(affinity: Mapping[str, Any], node: str) -> RawObject:
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    node_affinity = affinity.get("nodeAffinity") or {}
    terms = (node_affinity.get(required) or {}).get("nodeSelectorTerms") or [{}]
    tied = [{**term, "matchFields": [field]} for term in terms]
    return {**affinity, "nodeAffinity": {**node_affinity, required: {"nodeSelectorTerms": tied}}}


def node_of_daemon(pod: Pod) -> str:
    """Return the node that a DaemonSet's pod is on or tied to; empty when it is tied to none."""
    if pod.spec.node_name:
        return pod.spec.node_name
    affinity = pod.spec.affinity
    required = affinity.node_affinity.required if affinity is not None and affinity.node_affinity is not None else None
    for term in required.node_selector_terms if required is not None else ():
        for field in term.match_fields:
            if field.key == "metadata.name" and field.operator == "In" and len(field.values) == 1:
                return field.values[0]
    return ""


def is_current(pod: Pod, plan: DaemonPlan) -> bool:
    """Return whether a pod is of the DaemonSet's present template."""
    return pod.metadata.labels.get(REVISION_HASH) == plan.revision
