"""Nodes that no longer match what their pool asks for are replaced. Pure.

`drifted` says why a node has drifted; the condition that shows it is kept by `marks`. Source: spec v1 D-18, D-27 and
D-28, spec v1alpha5 §5.4 (DEP-32 … DEP-35), vectors TV-124 … TV-126.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from karpenter.disruption.candidates import Candidates
from karpenter.disruption.options import DEFAULT_OPTIONS, DisruptionOptions
from karpenter.disruption.rolling import Due, roll
from karpenter.disruption.verdict import Verdict
from karpenter.model import labels
from karpenter.model.instancetype import InstanceType
from karpenter.model.nodeclaim import DRIFTED, LAUNCHED, NodeClaim
from karpenter.model.nodepool import NodePool
from karpenter.model.units import UnixSeconds
from karpenter.scheduling import StopCheck, never
from karpenter.scheduling.snapshot import Snapshot

TYPE_GRACE_S: Final = 3600.0
"""A younger claim's type may be missing from a catalogue that is being refreshed (D-27)."""


class Drift(NamedTuple):
    """Why a node no longer matches its pool."""

    reason: str
    """CamelCase, as the condition has it."""
    message: str


def drift(snapshot: Snapshot, options: DisruptionOptions = DEFAULT_OPTIONS, *, stop: StopCheck = never) -> Verdict:
    """Return a command for drifted nodes, the longest drifted first, and why others stay."""
    due = []
    for candidate in Candidates(snapshot).all():
        claim = candidate.view.claim
        condition = claim.condition(DRIFTED) if claim else None
        if condition is not None and condition.is_true and candidate.pool.disruption.drift:
            since = condition.since if condition.since is not None else snapshot.taken_at
            due.append(Due(candidate, since, f"it has drifted ({condition.reason})"))
    return roll(snapshot, due, "Drifted", options=options, stop=stop) if due else Verdict()


def drifted(
    claim: NodeClaim, pool: NodePool, instance_types: Mapping[str, InstanceType], *, now: UnixSeconds
) -> Drift | None:
    """Return why a launched claim no longer matches its pool; None when it does, and for one not launched yet.

    `instance_types` is what the pool can launch, by name.

    The first difference counts: template, requirements, instance type. What the cloud finds comes after these.
    """
    if not claim.is_true(LAUNCHED) or not pool.disruption.drift:
        return None
    return _template(claim, pool) or _requirements(claim, pool) or _instance_type(claim, instance_types, now=now)


def _template(claim: NodeClaim, pool: NodePool) -> Drift | None:
    """Compare the digests of the template; where one side has none, or another version of it, nothing is known."""
    made_of = claim.metadata.annotations
    version = labels.NODEPOOL_HASH_VERSION
    if made_of.get(version) != pool.hash_annotations.get(version):
        return None
    for key, value in pool.hash_annotations.items():
        if key != version and made_of.get(key) not in {None, value}:
            return Drift(f"{pool.key.kind}Drifted", f"{pool.key} has another template than this was made from")
    return None


def _requirements(claim: NodeClaim, pool: NodePool) -> Drift | None:
    unmet = pool.node_requirements().unmet(claim.labels)
    if unmet is None:
        return None
    says = repr(claim.labels[unmet.key]) if unmet.key in claim.labels else "nothing"
    return Drift("RequirementsDrifted", f"{pool.key} asks for {unmet}, the label says {says}")


def _instance_type(claim: NodeClaim, instance_types: Mapping[str, InstanceType], *, now: UnixSeconds) -> Drift | None:
    created, name = claim.metadata.created_at, claim.labels.get(labels.INSTANCE_TYPE)
    if name is None or created is None or now - created <= TYPE_GRACE_S or not instance_types:
        return None
    found = instance_types.get(name)
    zone, capacity_type = claim.labels.get(labels.ZONE), claim.labels.get(labels.CAPACITY_TYPE)
    # A machine that its reservation no longer holds goes on as an on-demand one (D-27).
    kinds = {capacity_type, labels.ON_DEMAND} if capacity_type == labels.RESERVED else {capacity_type}
    offerings = found.offerings if found is not None else ()
    if any(offering.zone == zone and offering.capacity_type in kinds for offering in offerings):
        return None
    return Drift("InstanceTypeNotFound", f"{name} is no longer offered as {capacity_type} in {zone}")
