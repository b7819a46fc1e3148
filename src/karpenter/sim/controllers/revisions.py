"""Which ReplicaSet is a Deployment's current one, and how revisions are numbered and named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from karpenter.model.meta import LabelSelector
from karpenter.runtime.kube import RawObject
from karpenter.sim.controllers.rollout import DESIRED, MOST, first_size, most_replicas
from karpenter.sim.controllers.templates import (
    POD_TEMPLATE_HASH,
    controlled_by,
    same_template,
    template_hash,
    template_labels,
    with_labels,
)
from karpenter.sim.kinds import DEPLOYMENTS, Deployment, ReplicaSet

REVISION: Final = "deployment.kubernetes.io/revision"
_HISTORY: Final = "deployment.kubernetes.io/revision-history"
_OWN_ANNOTATIONS: Final = frozenset({
    REVISION, _HISTORY, DESIRED, MOST, "kubectl.kubernetes.io/last-applied-configuration",
})  # fmt: skip
"""Annotations that are not handed on from a Deployment to its ReplicaSets."""


@dataclass(frozen=True, slots=True)
class Revisions:
    """A Deployment's ReplicaSets."""

    new: ReplicaSet | None
    """Made from the template as it is now; None when there is none yet."""
    olds: tuple[ReplicaSet, ...]
    """All others, oldest first."""

    @property
    def every(self) -> tuple[ReplicaSet, ...]:
        """Old ones and the new one."""
        return (*self.olds, *((self.new,) if self.new is not None else ()))

    @property
    def next_number(self) -> int:
        """The revision number of the current template."""
        return max((revision_of(one) for one in self.olds), default=0) + 1


def sort_out(deployment: Deployment, owned: Sequence[ReplicaSet]) -> Revisions:
    """Return which of a Deployment's ReplicaSets has its template: the oldest one, if several do."""
    ordered = sorted(owned, key=lambda one: (one.metadata.creation_timestamp or "", one.metadata.name))
    new = next((one for one in ordered if same_template(one.spec.template, deployment.spec.template)), None)
    return Revisions(new, tuple(one for one in ordered if one is not new))


def revision_of(one: ReplicaSet) -> int:
    """Return a ReplicaSet's revision number; 0 when it has none."""
    text = one.metadata.annotations.get(REVISION, "")
    return int(text) if text.isdecimal() else 0


def new_replica_set(deployment: Deployment, revisions: Revisions) -> RawObject:
    """Return the manifest of the ReplicaSet for a Deployment's current template."""
    metadata, spec = deployment.metadata, deployment.spec
    name = template_hash(spec.template, deployment.status.collision_count)
    labels = {POD_TEMPLATE_HASH: name}
    selector = LabelSelector({**spec.selector.match_labels, **labels}, spec.selector.match_expressions)
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{metadata.name}-{name}",
            "namespace": metadata.namespace,
            "labels": {**template_labels(spec.template), **labels},
            "annotations": wanted_annotations(deployment, revisions.next_number) | size_annotations(deployment),
            "ownerReferences": [controlled_by(DEPLOYMENTS, metadata)],
        },
        "spec": {
            "replicas": first_size(deployment, revisions.olds),
            "minReadySeconds": spec.min_ready_seconds,
            "selector": selector_manifest(selector),
            "template": with_labels(spec.template, labels),
        },
    }


def selector_manifest(selector: LabelSelector) -> RawObject:
    """Return a selector as a manifest has it, empty parts left out."""
    found: RawObject = msgspec.to_builtins(selector)
    return {key: value for key, value in found.items() if value}


def wanted_annotations(deployment: Deployment, revision: int) -> dict[str, str]:
    """Return the annotations that the current ReplicaSet gets from its Deployment."""
    handed_on = {k: v for k, v in deployment.metadata.annotations.items() if k not in _OWN_ANNOTATIONS}
    return {**handed_on, REVISION: str(revision)}


def size_annotations(deployment: Deployment) -> dict[str, str]:
    """Return what a ReplicaSet notes about the size that its Deployment had when it was sized."""
    return {DESIRED: str(deployment.spec.replicas), MOST: str(most_replicas(deployment))}


def history_of(one: ReplicaSet, revision: int) -> dict[str, str]:
    """Return the annotation that keeps the numbers a ReplicaSet had before, when it gets another one."""
    before = one.metadata.annotations.get(REVISION)
    if before is None or before == str(revision):
        return {}
    known = one.metadata.annotations.get(_HISTORY)
    return {_HISTORY: f"{known},{before}" if known else before}


def forgotten(deployment: Deployment, olds: Sequence[ReplicaSet]) -> list[ReplicaSet]:
    """Return the old ReplicaSets that exceed the history limit, of those that are empty."""
    empty = [
        one
        for one in sorted(olds, key=revision_of)
        if not one.spec.replicas
        and not one.status.replicas
        and one.status.observed_generation >= one.metadata.generation
        and not one.metadata.is_deleting
    ]
    return empty[: max(0, len(olds) - deployment.spec.revision_history_limit)]
