"""Who the pods of a StatefulSet are: names, ordinals, claims, and the pod that a revision makes of an ordinal."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from karpenter.model.core import Pod
from karpenter.runtime.kube import RawObject
from karpenter.sim.controllers.templates import controlled_by, pod_from, template_labels
from karpenter.sim.kinds import STATEFUL_SETS, StatefulSet

REVISION: Final = "controller-revision-hash"
POD_NAME: Final = "statefulset.kubernetes.io/pod-name"
POD_INDEX: Final = "apps.kubernetes.io/pod-index"
_MEMBER: Final = re.compile(r"(.*)-([0-9]+)")


def ordinal_of(stateful_set: StatefulSet, pod: Pod) -> int | None:
    """Return a pod's number in a set; None when its name is not one of the set's."""
    found = _MEMBER.fullmatch(pod.metadata.name)
    return int(found[2]) if found is not None and found[1] == stateful_set.metadata.name else None


def ordinals(stateful_set: StatefulSet) -> range:
    """Return the numbers of the pods that a set should have."""
    start = stateful_set.spec.ordinals.start
    return range(start, start + stateful_set.spec.replicas)


def pod_name(stateful_set: StatefulSet, ordinal: int) -> str:
    """Return the name of the pod with a number."""
    return f"{stateful_set.metadata.name}-{ordinal}"


def claim_name(stateful_set: StatefulSet, template: RawObject, ordinal: int) -> str:
    """Return the name of the claim that a pod gets from a template."""
    return f"{template['metadata']['name']}-{stateful_set.metadata.name}-{ordinal}"


def claims_for(stateful_set: StatefulSet, ordinal: int) -> Iterable[RawObject]:
    """Yield the manifests of a pod's claims."""
    selected = stateful_set.spec.selector.match_labels
    for template in stateful_set.spec.volume_claim_templates:
        metadata = {key: template["metadata"][key] for key in ("annotations",) if template["metadata"].get(key)}
        labels = {**(template["metadata"].get("labels") or {}), **selected}
        yield {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                **metadata,
                "name": claim_name(stateful_set, template, ordinal),
                "namespace": stateful_set.metadata.namespace,
                "labels": labels,
            },
            "spec": template.get("spec") or {},
        }


def pod_for(stateful_set: StatefulSet, template: RawObject, revision: str, ordinal: int) -> RawObject:  # noqa: PLR0917 - what, of which revision, which one
    """Return the manifest of the pod with a number, of a revision's template."""
    owner = controlled_by(STATEFUL_SETS, stateful_set.metadata)
    pod = pod_from(template, owner, namespace=stateful_set.metadata.namespace, generate_name="")
    name = pod_name(stateful_set, ordinal)
    labels = {**template_labels(template), **identity_labels(name, ordinal), REVISION: revision}
    metadata = {**pod["metadata"], "name": name, "labels": labels}
    del metadata["generateName"]
    spec = {**pod["spec"], "hostname": name, "volumes": _volumes(stateful_set, pod["spec"], ordinal)}
    if stateful_set.spec.service_name:
        spec["subdomain"] = stateful_set.spec.service_name
    return {**pod, "metadata": metadata, "spec": spec}


def identity_labels(name: str, ordinal: int) -> dict[str, str]:
    """Return the labels by which a pod's name and number can be selected."""
    return {POD_NAME: name, POD_INDEX: str(ordinal)}


def _volumes(stateful_set: StatefulSet, spec: RawObject, ordinal: int) -> list[RawObject]:
    """Return a pod's volumes: a claim takes the place of a volume of the same name."""
    claims = {
        template["metadata"]["name"]: claim_name(stateful_set, template, ordinal)
        for template in stateful_set.spec.volume_claim_templates
    }
    own = [{"name": name, "persistentVolumeClaim": {"claimName": claim}} for name, claim in claims.items()]
    return own + [volume for volume in spec.get("volumes") or () if volume["name"] not in claims]
