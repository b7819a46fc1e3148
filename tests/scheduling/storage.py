"""Judges volumes and host ports of placed pods: zones of volumes, attach limits, claims that cannot be used, ports."""

from collections.abc import Iterator, Sequence

from karpenter.model import labels
from karpenter.model.core import PersistentVolumeClaimSpec, Pod
from karpenter.model.labels import canonical
from karpenter.model.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from karpenter.model.units import ObjectKey
from karpenter.scheduling import Volumes
from tests.scheduling.homes import Home, Shape, term_holds

EBS = "ebs.csi.aws.com"
IS_DEFAULT = "storageclass.kubernetes.io/is-default-class"
WILDCARDS = {"0.0.0.0", "::"}


def breaches(homes: Sequence[Home], volumes: Volumes) -> Iterator[str]:
    """Yield everything that keeps placed pods from mounting their volumes or opening their ports where they are."""
    hosts = frozenset(home.view.labels.get(labels.HOSTNAME, home.name) for home in homes if home.view)
    for home in homes:
        for pod in home.placed:
            yield from (f"{pod.metadata.key} on {home.name}: {why}" for why in _unmountable(home, pod, volumes, hosts))
        yield from _attachments(home, volumes)
        yield from _ports(home)


# --- volumes ----------------------------------------------------------------------------------------------------------


def claims_of(pod: Pod) -> Iterator[tuple[ObjectKey, PersistentVolumeClaimSpec | None]]:
    """Yield the claims of a pod, with what an ephemeral volume's claim will be made from."""
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield ObjectKey(pod.metadata.namespace, volume.persistent_volume_claim.claim_name), None
        elif volume.ephemeral is not None and volume.ephemeral.volume_claim_template is not None:
            name = f"{pod.metadata.name}-{volume.name}"
            yield ObjectKey(pod.metadata.namespace, name), volume.ephemeral.volume_claim_template.spec


def _spec(
    key: ObjectKey, template: PersistentVolumeClaimSpec | None, volumes: Volumes
) -> PersistentVolumeClaimSpec | None:
    claim = volumes.claims.get(key)
    return claim.spec if claim else template


def _class(spec: PersistentVolumeClaimSpec, volumes: Volumes) -> StorageClass | None:
    if spec.storage_class_name is None:
        marked = [c for c in volumes.classes.values() if c.metadata.annotations.get(IS_DEFAULT) == "true"]
        newest = max((c.metadata.creation_timestamp or "" for c in marked), default="")
        youngest = [c for c in marked if (c.metadata.creation_timestamp or "") == newest]
        return min(youngest, key=lambda c: c.metadata.name, default=None)
    return volumes.classes.get(spec.storage_class_name)


def _unmountable(home: Home, pod: Pod, volumes: Volumes, hosts: frozenset[str]) -> Iterator[str]:
    for key, template in claims_of(pod):
        claim, spec = volumes.claims.get(key), _spec(key, template, volumes)
        if spec is None:
            yield f"claim {key} does not exist"
        elif claim is not None and _is_unusable(claim):
            yield f"claim {key} cannot be used"
        elif spec.volume_name:
            volume = volumes.volumes.get(spec.volume_name)
            if volume is None:
                yield f"volume {spec.volume_name} does not exist"
            elif not all(_reaches(volume, shape, hosts) for shape in home.shapes.each):
                yield f"volume {spec.volume_name} is elsewhere"
        else:
            yield from _unmakeable(home, key, _class(spec, volumes))


def _is_unusable(claim: PersistentVolumeClaim) -> bool:
    return claim.metadata.is_deleting or claim.status.phase == "Lost"


def _reaches(volume: PersistentVolume, shape: Shape, hosts: frozenset[str]) -> bool:
    for key in (labels.ZONE, labels.REGION):
        if key in volume.metadata.labels and shape.labels.get(key) not in volume.metadata.labels[key].split("__"):
            return False
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return True
    # A volume on the disk of a node that is gone does not tie anybody to it.
    is_on_disk = volume.spec.local is not None or volume.spec.host_path is not None
    named = {
        value
        for term in affinity.required.node_selector_terms
        for expression in term.match_expressions
        if canonical(expression.key) == labels.HOSTNAME
        for value in expression.values
    }
    but = labels.HOSTNAME if is_on_disk and not named & hosts else ""
    return any(term_holds(term, shape.labels, but=but) for term in affinity.required.node_selector_terms)


def _unmakeable(home: Home, key: ObjectKey, chosen: StorageClass | None) -> Iterator[str]:
    if chosen is None:
        yield f"claim {key} is not bound and has no storage class"
    elif chosen.volume_binding_mode != "WaitForFirstConsumer":
        yield f"claim {key} is not bound although its class binds at once"
    elif chosen.allowed_topologies and not all(
        any(
            all(shape.labels.get(canonical(e.key)) in e.values for e in topology.match_label_expressions)
            for topology in chosen.allowed_topologies
        )
        for shape in home.shapes.each
    ):
        yield f"claim {key} could not get its volume there"


def _attached(pod: Pod, volumes: Volumes) -> Iterator[tuple[str, str]]:
    for key, template in claims_of(pod):
        spec = _spec(key, template, volumes)
        if spec is None:
            continue
        volume = volumes.volumes.get(spec.volume_name) if spec.volume_name else None
        if volume is not None and volume.spec.csi is not None:
            yield volume.spec.csi.driver, volume.spec.csi.volume_handle or volume.metadata.name
        elif volume is not None and volume.spec.aws_elastic_block_store is not None:
            yield EBS, str(volume.spec.aws_elastic_block_store.get("volumeID"))
        elif volume is None and (chosen := _class(spec, volumes)) is not None:
            yield EBS if chosen.provisioner == "kubernetes.io/aws-ebs" else chosen.provisioner, str(key)


def _attachments(home: Home, volumes: Volumes) -> Iterator[str]:
    if not any(pod.spec.volumes for pod in home.placed):
        return
    before = {attached for pod in home.bound for attached in _attached(pod, volumes)}
    after = before | {attached for pod in home.placed for attached in _attached(pod, volumes)}
    for shape in home.shapes.each:
        for driver, most in _limits(home, shape).items():
            count = sum(one == driver for one, _ in after)
            if count > most and count > sum(one == driver for one, _ in before):
                yield f"{home.name}: {count} volumes of {driver}, limit {most}"


def _limits(home: Home, shape: Shape) -> dict[str, int]:
    if shape.kind is not None:
        return dict(shape.kind.volume_limits)
    csi = home.view.csi if home.view else None
    drivers = csi.spec.drivers if csi else ()
    return {d.name: d.allocatable.count for d in drivers if d.allocatable and d.allocatable.count is not None}


# --- ports ------------------------------------------------------------------------------------------------------------


def _ports_of(pod: Pod) -> set[tuple[str, int, str]]:
    return {
        (port.host_ip or "0.0.0.0", port.host_port, port.protocol or "TCP")
        for container in (*pod.spec.containers, *pod.spec.init_containers)
        for port in container.ports
        if port.host_port
    }


def _ports(home: Home) -> Iterator[str]:
    placed = [(pod, wanted) for pod in home.placed if (wanted := _ports_of(pod))]
    for shape in home.shapes.each if placed else ():
        present = [(pod, _ports_of(pod)) for pod in (*home.bound, *shape.daemons)]
        for pod, wanted in placed:
            for other, taken in present:
                for one in wanted:
                    for two in taken:
                        if one[1:] == two[1:] and (one[0] == two[0] or WILDCARDS & {one[0], two[0]}):
                            yield f"{pod.metadata.key} and {other.metadata.key} on {home.name} both want port {one}"
            present.append((pod, wanted))
