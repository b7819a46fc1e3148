"""Volumes: bound, to be made, in other zones, too many."""

from karpenter.model import core
from karpenter.model.meta import ObjectMeta
from karpenter.model.storage import CSINode, PersistentVolume, PersistentVolumeClaim, PersistentVolumeSpec, StorageClass
from karpenter.sim.scheduler.selection import Placement
from tests.builders import a_node, a_pod, wire
from tests.sim.scheduler.worlds import World, WrittenSurroundings

ZONE = "topology.kubernetes.io/zone"
LATE = {"metadata": {"name": "late"}, "provisioner": "ebs.csi.aws.com", "volumeBindingMode": "WaitForFirstConsumer"}
EARLY = {"metadata": {"name": "early"}, "provisioner": "ebs.csi.aws.com", "volumeBindingMode": "Immediate"}


def claim(name: str, *, volume: str = "", storage_class: str = "late", **metadata: object) -> PersistentVolumeClaim:
    return wire(
        PersistentVolumeClaim,
        {
            "metadata": {"name": name, "namespace": "default", **metadata},
            "spec": {"volumeName": volume, "storageClassName": storage_class},
        },
    )


def volume(name: str, zone: str | None = None, labels: dict | None = None) -> PersistentVolume:
    spec: dict = {"csi": {"driver": "ebs.csi.aws.com", "volumeHandle": f"vol-{name}"}}
    if zone is not None:
        terms = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}]
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    return wire(PersistentVolume, {"metadata": {"name": name, "labels": labels or {}}, "spec": spec})


def mounting(*claims: str, name: str = "pod", node: str = "") -> core.Pod:
    volumes = [{"name": one, "persistentVolumeClaim": {"claimName": one}} for one in claims]
    return a_pod(name, cpu="100m", volumes=volumes, node=node)


def world(*nodes: core.Node, bound: tuple[core.Pod, ...] = (), **stored: object) -> World:
    classes = [wire(StorageClass, one) for one in (LATE, EARLY)]
    return World(*nodes, bound=bound, surroundings=WrittenSurroundings(**{"classes": classes, **stored}))


def test_a_volume_is_mounted_where_it_is() -> None:
    stored = {"claims": [claim("data", volume="v1")], "volumes": [volume("v1", "b")]}
    assert world(a_node("n1", zone="a"), a_node("n2", zone="b"), **stored).node_for(mounting("data")) == "n2"
    assert world(a_node("n1", zone="a"), **stored).why_not(mounting("data")) == (
        "0/1 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity."
    )


def test_a_volume_that_tells_its_zones_by_labels_is_mounted_there() -> None:
    stored = {"claims": [claim("data", volume="v1")], "volumes": [volume("v1", labels={ZONE: "b__c"})]}
    assert world(a_node("n1", zone="a"), a_node("n2", zone="c"), **stored).node_for(mounting("data")) == "n2"
    assert world(a_node("n1", zone="a"), **stored).why_not(mounting("data")) == (
        "0/1 nodes are available: 1 node(s) had no available volume zone."
    )


def test_a_claim_that_is_not_there_rules_out_all_nodes() -> None:
    assert world(a_node("n1"), a_node("n2")).place(mounting("data")).message == (
        '0/2 nodes are available: persistentvolumeclaim "data" not found. '
        "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    )


def test_an_unbound_claim_of_an_immediate_class_has_to_be_bound_first() -> None:
    stored = {"claims": [claim("data", storage_class="early")]}
    assert world(a_node("n1"), **stored).why_not(mounting("data")) == (
        "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims."
    )


def test_a_claim_whose_volume_is_gone_fits_nowhere() -> None:
    assert world(a_node("n1"), claims=[claim("data", volume="v1")]).why_not(mounting("data")) == (
        "0/1 nodes are available: 1 node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)."
    )


def test_a_volume_still_to_be_made_goes_along_with_the_placement() -> None:
    waiting = claim("data")
    found = world(a_node("n1"), claims=[waiting]).place(mounting("data"))
    assert found == Placement("n1", waiting=(waiting,))


def test_a_volume_can_be_made_only_where_its_class_allows() -> None:
    only_b = {**LATE, "allowedTopologies": [{"matchLabelExpressions": [{"key": ZONE, "values": ["b"]}]}]}
    stored = {"claims": [claim("data")], "classes": [wire(StorageClass, only_b)]}
    assert world(a_node("n1", zone="a"), a_node("n2", zone="b"), **stored).node_for(mounting("data")) == "n2"
    assert world(a_node("n1", zone="a"), **stored).why_not(mounting("data")) == (
        "0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind."
    )


def test_a_volume_being_made_for_one_node_keeps_the_pod_there() -> None:
    selected = claim("data", annotations={"volume.kubernetes.io/selected-node": "n2"})
    assert world(a_node("n1"), a_node("n2"), claims=[selected]).node_for(mounting("data")) == "n2"


def csi_node(name: str, count: int) -> CSINode:
    drivers = [{"name": "ebs.csi.aws.com", "nodeID": name, "allocatable": {"count": count}}]
    return wire(CSINode, {"metadata": {"name": name}, "spec": {"drivers": drivers}})


def test_a_node_holds_only_so_many_volumes() -> None:
    """SCH-54: the attach limit of the driver on the CSINode."""
    names = ["a", "b", "c"]
    stored = {
        "claims": [claim(one, volume=one) for one in names],
        "volumes": [volume(one) for one in names],
        "csi_nodes": [csi_node("n1", 2)],
    }
    bound = (mounting("a", "b", name="first", node="n1"),)
    assert world(a_node("n1"), bound=bound, **stored).why_not(mounting("c")) == (
        "0/1 nodes are available: 1 node(s) exceed max volume count."
    )
    assert world(a_node("n1"), bound=bound, **stored).node_for(mounting("b")) == "n1"
    assert world(a_node("n1"), a_node("n2"), bound=bound, **stored).node_for(mounting("c")) == "n2"


def test_an_ephemeral_volume_waits_for_its_claim() -> None:
    pod = a_pod("pod", volumes=[{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}])
    assert world(a_node("n1")).why_not(pod) == (
        "0/1 nodes are available: waiting for ephemeral volume controller to create the "
        'persistentvolumeclaim "pod-scratch".'
    )
    assert world(a_node("n1"), claims=[claim("pod-scratch")]).node_for(pod) == "n1"


def test_volumes_of_what_was_once_built_in_count_for_the_driver_that_took_over() -> None:
    old = PersistentVolume(
        ObjectMeta(name="old"), PersistentVolumeSpec(aws_elastic_block_store={"volumeID": "vol-old"})
    )
    stored = {"claims": [claim("data", volume="old")], "volumes": [old], "csi_nodes": [csi_node("n1", 0)]}
    assert world(a_node("n1"), **stored).node_for(mounting("data")) is None
