"""Provisioner to NodePool: fields, rules, and what the old words mean in the hub.

Source: spec v1alpha5 §1.2 to §1.6; the mapping is that of architecture §2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal, TypeAlias

from karpenter.model import labels
from karpenter.model.aws.nodetemplate import check_inline_provider
from karpenter.model.constraints import EFFECTS, Rules, read_annotations, read_labels, read_requirements, read_taints
from karpenter.model.durations import parse_go_duration
from karpenter.model.envelope import (
    Envelope,
    encode_status_resources,
    open_envelope,
    read_conditions,
    read_status_resources,
)
from karpenter.model.errors import ManifestWarning
from karpenter.model.kubelet import read_kubelet
from karpenter.model.meta import Condition, merged_conditions
from karpenter.model.nodepool import Disruption, KubeletConfiguration, NodeClassRef, NodePool, PoolTemplate
from karpenter.model.reading import INT32_MAX, Reader
from karpenter.model.requirements import Requirements
from karpenter.model.resources import NODES, Resources
from karpenter.model.v1alpha5.budgets import provisioner_budgets
from karpenter.model.v1alpha5.defaults import default_provisioner
from karpenter.model.v1alpha5.hashes import provisioner_hash

API_VERSION: Final = "karpenter.sh/v1alpha5"
KIND: Final = "Provisioner"

Mode: TypeAlias = Literal["compat", "strict"]
"""`strict` refuses what upstream refused; `compat` also accepts two slips of real manifests, with a warning each."""

RULES: Final = Rules(
    operators=("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"),
    is_restricted=labels.is_restricted,
    effects=(*EFFECTS, ""),
)


def decode_provisioner(raw: object, *, mode: Mode = "compat") -> tuple[NodePool, tuple[ManifestWarning, ...]]:
    """Return the pool that a Provisioner manifest describes, defaults applied, and what its author should know.

    Raises:
        ManifestError: every rule the manifest breaks.
    """
    completed = default_provisioner(raw) if isinstance(raw, Mapping) else raw
    envelope = open_envelope(completed, api_version=API_VERSION, kind=KIND)
    spec = envelope.spec
    warnings: list[ManifestWarning] = []
    template = _read_template(envelope)
    disruption = _read_disruption(envelope, mode, warnings)
    kubelet = _read_kubelet(spec, mode, warnings)
    limits = spec.part("limits").amounts("resources")
    weight = spec.integer("weight", minimum=1, maximum=100) or 0
    envelope.close()
    pool = NodePool(
        metadata=envelope.metadata,
        origin=envelope.origin,
        template=template,
        identity=(labels.PROVISIONER, envelope.metadata.name),
        disruption=disruption,
        limits=limits,
        weight=weight,
        kubelet=kubelet,
        conditions=read_conditions(envelope.status),
        resources=read_status_resources(envelope.status),
    )
    return replace(pool, hash_annotations={labels.PROVISIONER_HASH: provisioner_hash(pool)}), tuple(warnings)


def _read_template(envelope: Envelope) -> PoolTemplate:
    spec = envelope.spec
    taints, startup_taints = read_taints(spec, RULES)
    ttl = spec.integer("ttlSecondsUntilExpired", minimum=0)
    return PoolTemplate(
        requirements=Requirements(read_requirements(spec, "requirements", RULES)),
        node_class_ref=_read_provider_ref(spec),
        labels=read_labels(spec, "labels", RULES),
        annotations=read_annotations(spec, "annotations"),
        taints=taints,
        startup_taints=startup_taints,
        expire_after_s=None if ttl is None else float(ttl),
        inline_provider=_read_inline_provider(spec),
    )


def _read_provider_ref(spec: Reader) -> NodeClassRef | None:
    """API-4, API-5: exactly one of `provider` and `providerRef`; of the reference only the name counts."""
    if spec.has("provider") == spec.has("providerRef"):
        got = "both" if spec.has("provider") else "none"
        spec.fail("providerRef", f"expected exactly one of spec.provider and spec.providerRef, got {got}")
    reference = spec.part("providerRef")
    reference.string("kind")
    reference.string("apiVersion")
    if not spec.has("providerRef"):
        return None
    return NodeClassRef(labels.AWS_GROUP, "AWSNodeTemplate", reference.string("name", required=True))


def _read_inline_provider(spec: Reader) -> Mapping[str, object] | None:
    if not spec.has("provider"):
        return None
    check_inline_provider(spec.part("provider"))
    return spec.mapping("provider")


def _read_disruption(envelope: Envelope, mode: Mode, warnings: list[ManifestWarning]) -> Disruption:
    spec = envelope.spec
    enabled = spec.part("consolidation").boolean("enabled") is True
    ttl = spec.integer("ttlSecondsAfterEmpty", minimum=0)
    if enabled and spec.has("ttlSecondsAfterEmpty"):
        _meet_both(spec, mode, warnings)
    disruption = Disruption(
        policy="Off",
        consolidate_after_s=None,
        empty_after_s=None,
        budgets=provisioner_budgets(envelope),
        expires_by_pool=True,
    )
    if enabled:
        empty_after_s = 0.0 if ttl is None else float(ttl)
        return replace(
            disruption, policy="WhenEmptyOrUnderutilized", consolidate_after_s=0.0, empty_after_s=empty_after_s
        )
    if ttl is not None:
        return replace(disruption, policy="WhenEmpty", consolidate_after_s=float(ttl), empty_after_s=float(ttl))
    return disruption


def _meet_both(spec: Reader, mode: Mode, warnings: list[ManifestWarning]) -> None:
    """API-6, and the compat meaning of §1.2: the TTL rules empty nodes, consolidation the others."""
    if mode == "strict":
        reason = "expected exactly one of spec.ttlSecondsAfterEmpty and spec.consolidation.enabled, got both"
        spec.fail("ttlSecondsAfterEmpty", reason, "remove one of them")
        return
    warnings.append(
        ManifestWarning(
            code="W-EXCLUSIVE",
            path=spec.at("ttlSecondsAfterEmpty"),
            message="consolidation.enabled is true as well: an empty node goes when its TTL ends, never sooner, "
            "and consolidation takes only nodes that are not empty",
        )
    )


def _read_kubelet(spec: Reader, mode: Mode, warnings: list[ManifestWarning]) -> KubeletConfiguration | None:
    reader = spec.part("kubeletConfiguration")
    grace = _read_eviction_grace(reader, mode, warnings)
    kubelet = read_kubelet(reader, eviction_max_pod_grace_period_s=grace)
    return kubelet if spec.has("kubeletConfiguration") else None


def _read_eviction_grace(reader: Reader, mode: Mode, warnings: list[ManifestWarning]) -> int | None:
    """The field holds whole seconds; `3m`, as old documentation had it, is what compat accepts beside (W-DURATION)."""
    name = "evictionMaxPodGracePeriod"
    written = reader.value(name)
    if mode == "strict" and isinstance(written, str):
        reader.fail(name, f"expected whole seconds as an integer, got the string {written!r}", "such as 180")
        return None
    if not isinstance(written, str):
        return reader.integer(name, minimum=-INT32_MAX - 1, maximum=INT32_MAX)
    seconds = math.ceil(reader.parsed(name, parse_go_duration, default=0.0))
    if not 0 <= seconds <= INT32_MAX:
        reader.fail(name, f"{written!r} is not between 0 and {INT32_MAX} seconds")
    warnings.append(
        ManifestWarning(
            code="W-DURATION",
            path=reader.at(name),
            message=f"expected whole seconds, got {written!r}, read as {seconds}; write {seconds}",
        )
    )
    return seconds


def encode_provisioner_status(
    resources: Resources, *, previous: Resources, conditions: Sequence[Condition] | None = None
) -> dict[str, object]:
    """Return the merge patch of `status` that says which capacity is in use (§1.6): zero and the node count stay out.

    `previous` is what the status said before; conditions are left alone when they are None.
    """
    used = {name: amount for name, amount in resources.items() if amount and name != NODES}
    status: dict[str, object] = {"resources": encode_status_resources(used, previous)}
    if conditions is not None:
        status["conditions"] = merged_conditions(conditions, ())
    return {"status": status}
