"""Which bound pods keep others away from where they are. Source: spec v1alpha5 SCH-44; spec v1 S-30."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from karpenter.model.core import Pod, PodAffinity

_encode = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True, slots=True)
class Repelling:
    """A pod with required anti-affinity."""

    pod: Pod
    terms: PodAffinity
    code: bytes
    """Equal for equal terms."""


def repelling(pods: Iterable[Pod]) -> tuple[Repelling, ...]:
    """Return those of the pods that have required anti-affinity."""
    sides = ((pod, pod.spec.affinity.pod_anti_affinity) for pod in pods if pod.spec.affinity is not None)
    return tuple(Repelling(pod, side, _encode(side)) for pod, side in sides if side is not None and side.required)
