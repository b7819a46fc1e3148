"""NodePool to the hub: fields, defaults and rules.

Source: spec v1 §1.3, §1.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, cast

from karpenter.model import labels
from karpenter.model.budgets import read_budgets
from karpenter.model.constraints import Rules, read_annotations, read_labels, read_requirements, read_taints
from karpenter.model.durations import parse_duration, parse_nillable_duration
from karpenter.model.envelope import encode_status_resources, open_envelope, read_conditions, read_status_resources
from karpenter.model.errors import ManifestWarning
from karpenter.model.meta import Condition, merged_conditions
from karpenter.model.nodepool import Budget, ConsolidationPolicy, Disruption, NodeClassRef, NodePool, PoolTemplate
from karpenter.model.reading import Reader
from karpenter.model.requirements import OPERATORS, Requirement, Requirements
from karpenter.model.resources import CPU, EPHEMERAL_STORAGE, MEMORY, NODES, PODS, Resources
from karpenter.model.v1.hashes import HASH_VERSION, nodepool_hash

API_VERSION: Final = "karpenter.sh/v1"
KIND: Final = "NodePool"

RULES: Final = Rules(operators=OPERATORS, is_restricted=labels.is_restricted_in_nodepool, has_min_values=True)
MOST_ENTRIES: Final = 100
"""Labels, and requirements, that a template may have."""
DEFAULT_EXPIRE_AFTER_S: Final = 720 * 3600.0

_POLICIES: Final = ("WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced")
_CAPACITY_TYPES: Final = frozenset({labels.SPOT, labels.ON_DEMAND, labels.RESERVED})
_ALWAYS_COUNTED: Final = (CPU, MEMORY, EPHEMERAL_STORAGE, PODS, NODES)


def decode_nodepool(raw: object) -> tuple[NodePool, tuple[ManifestWarning, ...]]:
    """Return the pool that a NodePool manifest describes, defaults applied, and what its author should know.

    Raises:
        ManifestError: every rule the manifest breaks.
    """
    envelope = open_envelope(raw, api_version=API_VERSION, kind=KIND)
    spec = envelope.spec
    template = _read_template(spec)
    disruption = _read_disruption(spec)
    limits = spec.amounts("limits")
    weight = spec.integer("weight", minimum=1, maximum=100) or 0
    replicas = spec.integer("replicas", minimum=0)
    if replicas is not None:
        _check_static(spec, limits)
    warnings = _unknown_capacity_types(template.requirements)
    envelope.close()
    pool = NodePool(
        metadata=envelope.metadata,
        origin=envelope.origin,
        template=template,
        identity=(labels.NODEPOOL, envelope.metadata.name),
        disruption=disruption,
        limits=limits,
        weight=weight,
        replicas=replicas,
        conditions=read_conditions(envelope.status),
        resources=read_status_resources(envelope.status),
        class_generation=_read_class_generation(envelope.status),
    )
    annotations = {labels.NODEPOOL_HASH: nodepool_hash(template), labels.NODEPOOL_HASH_VERSION: HASH_VERSION}
    return replace(pool, hash_annotations=annotations), warnings


def _read_template(spec: Reader) -> PoolTemplate:
    template = spec.part("template", required=True)
    metadata = template.part("metadata")
    inner = template.part("spec", required=spec.has("template"))
    template_labels = read_labels(metadata, "labels", RULES)
    if len(template_labels) > MOST_ENTRIES:
        metadata.fail("labels", f"has {len(template_labels)} entries", f"at most {MOST_ENTRIES}")
    taints, startup_taints = read_taints(inner, RULES)
    return PoolTemplate(
        requirements=_read_requirements(inner, is_needed=template.has("spec")),
        node_class_ref=read_node_class_ref(inner, is_needed=template.has("spec")),
        labels=template_labels,
        annotations=read_annotations(metadata, "annotations"),
        taints=taints,
        startup_taints=startup_taints,
        expire_after_s=inner.parsed("expireAfter", parse_nillable_duration, default=DEFAULT_EXPIRE_AFTER_S),
        termination_grace_period_s=inner.parsed("terminationGracePeriod", parse_duration, default=None),
    )


def _read_requirements(inner: Reader, *, is_needed: bool) -> Requirements:
    if is_needed and not inner.has("requirements"):
        inner.fail("requirements", "is required", "write [] for none")
    found = read_requirements(inner, "requirements", RULES)
    if len(found) > MOST_ENTRIES:
        inner.fail("requirements", f"has {len(found)} entries", f"at most {MOST_ENTRIES}")
    for requirement in found:
        if _unknown_capacity_type_values(requirement) == requirement.values and requirement.values:
            known = ", ".join(sorted(_CAPACITY_TYPES))
            inner.fail("requirements", f"{requirement} names no capacity type there is", f"use {known}")
    return Requirements(found)


def _unknown_capacity_type_values(requirement: Requirement) -> frozenset[str]:
    is_listed = requirement.key == labels.CAPACITY_TYPE and not requirement.complement
    return requirement.values - _CAPACITY_TYPES if is_listed else frozenset()


def _unknown_capacity_types(requirements: Requirements) -> tuple[ManifestWarning, ...]:
    unknown = sorted(_unknown_capacity_type_values(requirements.allowed(labels.CAPACITY_TYPE)))
    if not unknown:
        return ()
    message = f"{labels.CAPACITY_TYPE} has values that no cloud offers: {', '.join(unknown)}"
    return (ManifestWarning("W-UNKNOWN-VALUE", "spec.template.spec.requirements", message),)


def read_node_class_ref(reader: Reader, *, is_needed: bool) -> NodeClassRef | None:
    """Return `nodeClassRef`; None when it is absent."""
    if is_needed and not reader.has("nodeClassRef"):
        reader.fail("nodeClassRef", "is required")
    if not reader.has("nodeClassRef"):
        return None
    reference = reader.part("nodeClassRef")
    group = reference.string("group", required=True)
    if "/" in group:
        reference.fail("group", f"{group!r} must not have a slash", "write the group without the version")
    return NodeClassRef(group, reference.string("kind", required=True), reference.string("name", required=True))


def _read_disruption(spec: Reader) -> Disruption:
    disruption = spec.part("disruption")
    policy = disruption.choice("consolidationPolicy", _POLICIES) or "WhenEmptyOrUnderutilized"
    after = disruption.parsed("consolidateAfter", parse_nillable_duration, default=0.0)
    budgets = read_budgets(disruption, "budgets") if disruption.has("budgets") else (Budget(),)
    return Disruption(
        policy=cast(ConsolidationPolicy, policy), consolidate_after_s=after, empty_after_s=after, budgets=budgets
    )


def _check_static(spec: Reader, limits: Resources) -> None:
    if spec.has("weight"):
        spec.fail("weight", "cannot be given together with replicas", "a static pool is not chosen by weight")
    if set(limits) - {NODES}:
        spec.fail("limits", "only nodes can be limited together with replicas")


def _read_class_generation(status: Mapping[str, object]) -> int:
    found = status.get("nodeClassObservedGeneration")
    return found if isinstance(found, int) else 0


def encode_nodepool_status(
    resources: Resources,
    *,
    previous: Resources,
    conditions: Sequence[Condition] | None = None,
    class_generation: int = 0,
) -> dict[str, object]:
    """Return the merge patch of `status` that says which capacity is in use, from zero up (spec v1 §1.4.2).

    `previous` is what the status said before; conditions are left alone when they are None. `class_generation` is that
    of the node class as it was looked at; 0 leaves it out.
    """
    used = {**dict.fromkeys(_ALWAYS_COUNTED, 0), **resources}
    status: dict[str, object] = {"resources": encode_status_resources(used, previous), "nodes": used[NODES]}
    if conditions is not None:
        status["conditions"] = merged_conditions(conditions, ())
    if class_generation:
        status["nodeClassObservedGeneration"] = class_generation
    return {"status": status}
