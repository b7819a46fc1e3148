"""The revisions of a workload: which one its template is, which one its pods come from, which are forgotten.

Source: kubernetes.io/docs/concepts/workloads/controllers/statefulset, Revision history.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from karpenter.runtime.kube import RawObject, Resource
from karpenter.sim.controllers.templates import controlled_by, template_hash, template_labels
from karpenter.sim.kinds import DAEMON_SETS, STATEFUL_SETS, ControllerRevision, DaemonSet, StatefulSet

HASH: Final = "controller.kubernetes.io/hash"
_LONGEST_PREFIX: Final = 223

Workload: TypeAlias = StatefulSet | DaemonSet


@dataclass(frozen=True, slots=True)
class History:
    """What a set's revisions say about its template."""

    equal: ControllerRevision | None
    """The revision with the template as it is; None when it has to be made."""
    number: int
    """The number that this revision should have: the highest of all."""
    current: ControllerRevision | None
    """The revision that the set last settled on; None when there is none yet."""


def sort_out(workload: Workload, revisions: Sequence[ControllerRevision], *, current: str = "") -> History:
    """Return how the template as it is stands among the revisions; going back to an old one takes that one again."""
    ordered = sorted(revisions, key=_age)
    wanted = data_of(workload)
    equal = next((one for one in reversed(ordered) if one.data == wanted), None)
    highest = ordered[-1].revision if ordered else 0
    settled = next((one for one in ordered if one.metadata.name == current), None)
    is_last = equal is not None and equal is ordered[-1]
    return History(equal, highest if is_last else highest + 1, settled)


def data_of(workload: Workload) -> RawObject:
    """Return the patch that brings back the template as it is, as `kubectl rollout undo` applies it."""
    return {"spec": {"template": {**workload.spec.template, "$patch": "replace"}}}


def template_of(revision: ControllerRevision) -> RawObject:
    """Return the template that a revision keeps."""
    template: RawObject = revision.data["spec"]["template"]
    return {key: value for key, value in template.items() if key != "$patch"}


def new_revision(workload: Workload, number: int, *, digest: str = "") -> RawObject:
    """Return the manifest of the revision for the template as it is; `digest` is what pods are labelled with, if so."""
    metadata, template = workload.metadata, workload.spec.template
    data = data_of(workload)
    digest = digest or template_hash(data, workload.status.collision_count or 0)
    kind: Resource[Any] = STATEFUL_SETS if isinstance(workload, StatefulSet) else DAEMON_SETS
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "name": f"{metadata.name[:_LONGEST_PREFIX]}-{digest}",
            "namespace": metadata.namespace,
            "labels": {**template_labels(template), HASH: digest},
            "annotations": dict(metadata.annotations),
            "ownerReferences": [controlled_by(kind, metadata)],
        },
        "data": data,
        "revision": number,
    }


def forgotten(
    workload: Workload, revisions: Sequence[ControllerRevision], live: Collection[str]
) -> Sequence[ControllerRevision]:
    """Return the revisions that exceed the history limit, oldest first; those in `live`, by name, are kept."""
    old = [one for one in sorted(revisions, key=_age) if one.metadata.name not in live]
    return old[: max(0, len(old) - workload.spec.revision_history_limit)]


def _age(one: ControllerRevision) -> tuple[int, str, str]:
    return one.revision, one.metadata.creation_timestamp or "", one.metadata.name
