"""From paths to a consistent set of objects: read, decode, expand workloads, apply what admission would."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from karpenter.app.manifests.admission import Admission, judged
from karpenter.app.manifests.decode import decode_documents
from karpenter.app.manifests.objects import Objects
from karpenter.app.manifests.problems import InputError, Problem
from karpenter.app.manifests.sources import Document, read_documents
from karpenter.app.manifests.workloads import expand
from karpenter.model.core import LimitRange, Pod, PriorityClass
from karpenter.model.pools import Mode
from karpenter.model.storage import PersistentVolumeClaim


@dataclass(frozen=True, slots=True)
class Input:
    """What a command was given, ready to be looked at."""

    objects: Objects
    pods: tuple[Pod, ...]
    """Those of the input and those that its workloads imply; the unbound ones count as unschedulable."""
    volume_claims: tuple[PersistentVolumeClaim, ...]
    warnings: tuple[str, ...]
    """One line each: what was read although something is odd about it, and what was not read."""


def load(paths: Sequence[str], mode: Mode, *, stdin: BinaryIO) -> Input:
    """Return everything that files, folders and `-` say.

    Raises:
        InputError: something cannot be read or is wrong; it lists every mistake of every file.
    """
    documents, unreadable = read_documents(paths, stdin=stdin)
    return understood(documents, mode, unreadable=unreadable)


def understood(documents: Iterable[Document], mode: Mode, *, unreadable: Sequence[Problem] = ()) -> Input:
    """Return what the documents say. Raises InputError with every mistake, those in `unreadable` among them."""
    objects, wrong, warnings = decode_documents(documents, mode)
    if unreadable or wrong:
        raise InputError((*unreadable, *wrong))
    expansion = expand(objects)
    admission = Admission(objects.of(LimitRange), objects.of(PriorityClass))
    pods = tuple(judged(admission.admitted(pod)) for pod in (*objects.of(Pod), *expansion.pods))
    return Input(
        objects=objects,
        pods=pods,
        volume_claims=(*objects.of(PersistentVolumeClaim), *expansion.claims),
        warnings=(*warnings, *_about_classes(admission.unknown_classes), *_about_gates(pods)),
    )


def _about_classes(names: Iterable[str]) -> list[str]:
    return [
        f"priority class {name!r} is not in the input, its pods count as having priority 0" for name in sorted(names)
    ]


def _about_gates(pods: Iterable[Pod]) -> list[str]:
    gated = sorted(pod.metadata.key for pod in pods if pod.spec.scheduling_gates and not pod.spec.node_name)
    return [f"Pod {key}: is not planned for, its scheduling gates are closed" for key in gated]
