"""NodeClaim, read from the API and written to it.

Source: spec v1 §1.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from karpenter.model import labels
from karpenter.model.constraints import EFFECTS, Rules, read_requirements, read_taints
from karpenter.model.durations import format_duration, parse_duration, parse_nillable_duration
from karpenter.model.envelope import open_envelope, read_conditions, read_status_resources
from karpenter.model.meta import ObjectMeta, OwnerReference
from karpenter.model.nodeclaim import NodeClaim
from karpenter.model.requirements import OPERATORS, Requirement, Requirements
from karpenter.model.resources import format_resources
from karpenter.model.taints import Taint
from karpenter.model.units import PoolKey, ProviderID
from karpenter.model.v1.nodepool import DEFAULT_EXPIRE_AFTER_S, read_node_class_ref

API_VERSION: Final = "karpenter.sh/v1"
KIND: Final = "NodeClaim"

# A claim carries what its pool said, and pools of both generations make claims; so nothing is refused here by its key.
# Pods may have narrowed a list below the pool's `minValues`.
_RULES: Final = Rules(
    operators=OPERATORS,
    is_restricted=lambda _: False,
    effects=(*EFFECTS, ""),
    has_min_values=True,
    needs_enough_values=False,
)


def decode_nodeclaim(raw: object) -> NodeClaim:
    """Return the claim in a NodeClaim manifest; its pool is the one that its labels name.

    Raises:
        ManifestError: everything that cannot be read.
    """
    envelope = open_envelope(raw, api_version=API_VERSION, kind=KIND)
    spec, status = envelope.spec, envelope.status
    taints, startup_taints = read_taints(spec, _RULES)
    requirements = Requirements(read_requirements(spec, "requirements", _RULES))
    requests = spec.part("resources").amounts("requests")
    node_class_ref = read_node_class_ref(spec, is_needed=False)
    expire_after_s = spec.parsed("expireAfter", parse_nillable_duration, default=DEFAULT_EXPIRE_AFTER_S)
    termination_grace_period_s = spec.parsed("terminationGracePeriod", parse_duration, default=None)
    # Another release may have written more than we know, and a claim that is not seen is a machine that leaks.
    envelope.close(allow_unknown=True)
    provider_id = _text(status, "providerID")
    return NodeClaim(
        metadata=envelope.metadata,
        requirements=requirements,
        requests=requests,
        node_class_ref=node_class_ref,
        taints=taints,
        startup_taints=startup_taints,
        expire_after_s=expire_after_s,
        termination_grace_period_s=termination_grace_period_s,
        pool=_pool_of(envelope.metadata.labels),
        provider_id=ProviderID(provider_id) if provider_id else None,
        node_name=_text(status, "nodeName"),
        image_id=_text(status, "imageID"),
        capacity=read_status_resources(status, "capacity"),
        allocatable=read_status_resources(status, "allocatable"),
        conditions=read_conditions(status),
        last_pod_event_time=_text(status, "lastPodEventTime") or None,
    )


def _text(status: Mapping[str, object], name: str) -> str:
    value = status.get(name)
    return value if isinstance(value, str) else ""


def _pool_of(given: Mapping[str, str]) -> PoolKey | None:
    for label, kind in ((labels.NODEPOOL, "NodePool"), (labels.PROVISIONER, "Provisioner")):
        if label in given:
            return PoolKey(kind, given[label])
    return None


def encode_nodeclaim(claim: NodeClaim) -> dict[str, object]:
    """Return the manifest that creates a claim: its spec and the metadata that are ours to set, no status.

    Reading it back gives an equal claim; `metadata.name` is left out while the name is still to be generated.
    """
    spec: dict[str, object] = {
        "requirements": [entry for requirement in claim.requirements.values() for entry in _entries(requirement)],
        "resources": {"requests": format_resources(claim.requests)},
        "expireAfter": format_duration(claim.expire_after_s),
    }
    if claim.node_class_ref is not None:
        reference = claim.node_class_ref
        spec["nodeClassRef"] = {"group": reference.group, "kind": reference.kind, "name": reference.name}
    if claim.taints:
        spec["taints"] = [_encode_taint(taint) for taint in claim.taints]
    if claim.startup_taints:
        spec["startupTaints"] = [_encode_taint(taint) for taint in claim.startup_taints]
    if claim.termination_grace_period_s is not None:
        spec["terminationGracePeriod"] = format_duration(claim.termination_grace_period_s)
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": _encode_metadata(claim.metadata), "spec": spec}


def _encode_metadata(metadata: ObjectMeta) -> dict[str, object]:
    encoded: dict[str, object] = {
        "name": metadata.name,
        "generateName": metadata.generate_name,
        "labels": dict(metadata.labels),
        "annotations": dict(metadata.annotations),
        "finalizers": list(metadata.finalizers),
        "ownerReferences": [encode_owner(owner) for owner in metadata.owner_references],
    }
    return {name: value for name, value in encoded.items() if value}


def encode_owner(owner: OwnerReference) -> dict[str, object]:
    """Return an entry of `metadata.ownerReferences`."""
    encoded: dict[str, object] = {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid,
    }
    if owner.controller is not None:
        encoded["controller"] = owner.controller
    if owner.block_owner_deletion is not None:
        encoded["blockOwnerDeletion"] = owner.block_owner_deletion
    return encoded


def _encode_taint(taint: Taint) -> dict[str, object]:
    value = {"value": taint.value} if taint.value else {}
    return {"key": taint.key, **value, "effect": taint.effect}


def _entries(requirement: Requirement) -> list[dict[str, object]]:
    return [_entry(requirement, *_inclusive(operator, values)) for operator, values in requirement.entries()]


def _inclusive(operator: str, values: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Claims say bounds with Gte and Lte (§1.4.1), none of them negative: no label value is, so nothing gets lost."""
    if operator == "Gt":
        return "Gte", (str(max(0, int(values[0]) + 1)),)
    if operator == "Lt":
        bound = int(values[0])
        return ("Lte", (str(bound - 1),)) if bound > 0 else ("Lt", ("0",))
    return operator, values


def _entry(requirement: Requirement, operator: str, values: tuple[str, ...]) -> dict[str, object]:
    entry: dict[str, object] = {"key": requirement.key, "operator": operator}
    if values:
        entry["values"] = list(values)
    if requirement.min_values is not None:
        entry["minValues"] = requirement.min_values
    return entry
