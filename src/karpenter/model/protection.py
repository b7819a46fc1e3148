"""Pods that must not be moved: for good, or for their first hours.

Source: spec v1 §3.3 (B-1), spec v1alpha5 DEP-5.
"""

from __future__ import annotations

from dataclasses import dataclass

from karpenter.model import labels
from karpenter.model.core import Pod
from karpenter.model.durations import parse_go_duration
from karpenter.model.pods import is_do_not_disrupt
from karpenter.model.units import UnixSeconds, from_rfc3339


@dataclass(frozen=True, slots=True)
class Protection:
    """What an annotation asks for one pod."""

    annotation: str
    """Key and value, as written."""
    until: UnixSeconds | None = None
    """When it ends by itself; None for one that lasts, or whose pod has not started yet."""


def protection(pod: Pod, now: UnixSeconds) -> Protection | None:
    """Return what protects the pod at this moment; None when nothing does.

    `true` protects for good, a positive duration from the pod's start on, and before it; anything else does not count
    (see `misread_protection`).
    """
    if is_do_not_disrupt(pod):
        legacy = pod.metadata.annotations.get(labels.DO_NOT_EVICT) == "true"
        return Protection(f"{labels.DO_NOT_EVICT if legacy else labels.DO_NOT_DISRUPT}: true")
    text = pod.metadata.annotations.get(labels.DO_NOT_DISRUPT)
    duration_s = _duration(text)
    if duration_s is None:
        return None
    written = f"{labels.DO_NOT_DISRUPT}: {text}"
    until = protected_until(pod)
    return Protection(written, until) if until is None or now < until else None


def protected_until(pod: Pod) -> UnixSeconds | None:
    """Return when the protection of a pod's first time ends or ended; None for a pod without such, or not started."""
    duration_s = _duration(pod.metadata.annotations.get(labels.DO_NOT_DISRUPT))
    if duration_s is None or pod.status.start_time is None:
        return None
    return UnixSeconds(from_rfc3339(pod.status.start_time) + duration_s)


def misread_protection(pod: Pod) -> str | None:
    """Return a `do-not-disrupt` value that means nothing, for an event; None when the annotation is absent or fine."""
    text = pod.metadata.annotations.get(labels.DO_NOT_DISRUPT)
    return None if text in {None, "true", "false"} or _duration(text) is not None else text


def _duration(text: str | None) -> float | None:
    """Return the seconds of a positive duration; None for any other text."""
    try:
        seconds = parse_go_duration(text or "")
    except ValueError:
        return None
    return seconds if seconds > 0 else None
