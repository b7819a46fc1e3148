"""What claims ask of a node: places, attachments, and claims that nothing can mount."""

import pytest

from karpenter.model import core, labels
from karpenter.model.core import Pod
from karpenter.model.requirements import Requirement, Requirements
from karpenter.model.storage import PersistentVolume, PersistentVolumeSpec, VolumeNodeAffinity
from karpenter.scheduling import Volumes
from karpenter.scheduling.volumes import NO_MOUNTS, Mounts, Storage
from tests.builders import a_pod
from tests.scheduling.stores import (
    AT_ONCE,
    EBS,
    a_storage_class,
    a_volume,
    a_volume_claim,
    using,
    volumes_of,
    with_ephemeral,
)


def mounts(pod: Pod, volumes: Volumes, *, hosts: frozenset[str] = frozenset()) -> Mounts:
    return Storage(volumes, hosts).mounts(pod)


def in_zones(*names: str) -> Requirements:
    return Requirements((Requirement.of(labels.ZONE, "In", names),))


def places(pod: Pod, volumes: Volumes, **known) -> tuple[Requirements, ...]:
    found = mounts(pod, volumes, **known)
    assert found.fault is None
    return found.alternatives


def test_a_pod_without_claims_asks_nothing() -> None:
    assert mounts(a_pod(volumes=[{"name": "logs"}]), volumes_of()) is NO_MOUNTS


def test_a_bound_volume_ties_the_pod_to_its_zone_whatever_the_key_is_called() -> None:
    """SCH-50, SCH-51."""
    volumes = volumes_of(
        a_volume_claim(volume="pv"), a_volume(terms=[{"topology.ebs.csi.aws.com/zone": ["us-west-2a"]}])
    )
    assert places(using("pod", "data"), volumes) == (in_zones("us-west-2a"),)


def test_every_term_of_a_volume_is_an_alternative() -> None:
    volumes = volumes_of(a_volume_claim(volume="pv"), a_volume(terms=[{labels.ZONE: ["a"]}, {labels.ZONE: ["b"]}]))
    assert places(using("pod", "data"), volumes) == (in_zones("a"), in_zones("b"))


def test_zone_labels_of_old_volumes_count() -> None:
    volumes = volumes_of(a_volume_claim(volume="pv"), a_volume(labelled={labels.ZONE: "a__b"}))
    assert places(using("pod", "data"), volumes) == (in_zones("a", "b"),)


def test_a_class_that_waits_leaves_its_topologies_as_alternatives() -> None:
    """TV-80, SCH-53, S-40."""
    late = a_storage_class(topologies=[{labels.ZONE: ["b"]}, {labels.ZONE: ["c"]}])
    assert places(using("pod", "data"), volumes_of(a_volume_claim(), late)) == (in_zones("b"), in_zones("c"))


def test_several_volumes_have_to_be_reached_at_once() -> None:
    volumes = volumes_of(
        a_volume_claim("one", volume="one"),
        a_volume_claim("two"),
        a_volume("one", terms=[{labels.ZONE: ["a"]}, {labels.ZONE: ["b"]}]),
        a_storage_class(topologies=[{labels.ZONE: ["b"]}, {labels.ZONE: ["c"]}]),
    )
    assert places(using("pod", "one", "two"), volumes) == (in_zones("b"),)


def test_volumes_in_different_zones_are_a_fault_that_names_both() -> None:
    volumes = volumes_of(
        a_volume_claim("one", volume="one"),
        a_volume_claim("two", volume="two"),
        a_volume("one", zone="a"),
        a_volume("two", zone="b"),
    )
    fault = mounts(using("pod", "one", "two"), volumes).fault
    assert fault is not None
    assert f"one ({labels.ZONE} In [a])" in fault
    assert f"two ({labels.ZONE} In [b])" in fault


def test_the_newest_default_class_serves_claims_that_name_none() -> None:
    volumes = volumes_of(
        a_volume_claim(storage_class=None),
        a_storage_class("old", topologies=[{labels.ZONE: ["a"]}], is_default=True, created="2020-01-01T00:00:00Z"),
        a_storage_class("new", topologies=[{labels.ZONE: ["b"]}], is_default=True, created="2021-01-01T00:00:00Z"),
        a_storage_class("other", topologies=[{labels.ZONE: ["c"]}], created="2022-01-01T00:00:00Z"),
    )
    assert places(using("pod", "data"), volumes) == (in_zones("b"),)


def test_an_ephemeral_volume_is_judged_by_its_template_until_its_claim_is_there() -> None:
    late = a_storage_class(topologies=[{labels.ZONE: ["b"]}])
    assert places(with_ephemeral("pod"), volumes_of(late)) == (in_zones("b"),)
    made = volumes_of(late, a_volume_claim("pod-scratch", volume="pv"), a_volume(zone="a"))
    assert places(with_ephemeral("pod"), made) == (in_zones("a"),)


def test_a_local_volume_ties_to_its_node_only_while_that_is_there() -> None:
    """S-41, where the node is gone."""
    volume = a_volume(terms=[{labels.HOSTNAME: ["n1"], labels.ZONE: ["a"]}], driver=None, is_local=True)
    volumes = volumes_of(a_volume_claim(volume="pv"), volume)
    (there,) = places(using("pod", "data"), volumes, hosts=frozenset({"n1"}))
    assert there[labels.HOSTNAME].allows("n1")
    assert places(using("pod", "data"), volumes) == (in_zones("a"),)


def test_a_claim_whose_volume_is_being_made_somewhere_follows_it() -> None:
    claim = a_volume_claim(annotations={"volume.kubernetes.io/selected-node": "n1"})
    (place,) = places(using("pod", "data"), volumes_of(claim), hosts=frozenset({"n1"}))
    assert place[labels.HOSTNAME].allows("n1")
    assert places(using("pod", "data"), volumes_of(claim)) == (Requirements(),)


def test_a_class_without_provisioner_offers_the_volumes_that_are_free() -> None:
    by_hand = a_storage_class(provisioner="kubernetes.io/no-provisioner")
    free = a_volume("free", zone="a", storage_class="late")
    taken = a_volume("taken", zone="b", storage_class="late")
    other = a_volume_claim("other", volume="taken")
    assert places(using("pod", "data"), volumes_of(a_volume_claim(), by_hand, free, taken, other)) == (in_zones("a"),)
    fault = mounts(using("pod", "data"), volumes_of(a_volume_claim(), by_hand, taken, other)).fault
    assert fault is not None
    assert "none is free" in fault


@pytest.mark.parametrize(
    "objects, words",
    [
        ((), "not found"),
        ((a_volume_claim(deleted="2023-11-14T22:10:00Z"),), "being deleted"),
        ((a_volume_claim(phase="Lost", volume="pv"),), "has lost its volume 'pv'"),
        ((a_volume_claim(volume="pv"),), "is bound to 'pv', not found"),
        ((a_volume_claim(storage_class="none-such"),), "storage class 'none-such', not found"),
        ((a_volume_claim(storage_class=None),), "none is the default"),
        ((a_volume_claim(storage_class=""),), "asks for none"),
        ((a_volume_claim(), a_storage_class(mode=AT_ONCE)), "binds at once"),
    ],
)
def test_claims_that_nothing_can_mount_say_why(objects, words: str) -> None:
    """S-6."""
    fault = mounts(using("pod", "data"), volumes_of(*objects)).fault
    assert fault is not None
    assert "'data'" in fault
    assert words in fault


def test_a_volume_whose_affinity_cannot_be_read_is_a_fault() -> None:
    volume = a_volume()
    broken = core.NodeSelector((core.NodeSelectorTerm((core.SelectorExpression("rack", "Near", ("1",)),)),))
    spec = PersistentVolumeSpec(node_affinity=VolumeNodeAffinity(broken))
    volumes = volumes_of(a_volume_claim(volume="pv"), PersistentVolume(volume.metadata, spec))
    assert "'pv'" in str(mounts(using("pod", "data"), volumes).fault)


def test_attachments_are_known_by_driver_and_shared_by_their_name() -> None:
    """SCH-54."""
    in_tree = a_storage_class("old", provisioner="kubernetes.io/aws-ebs")
    volumes = volumes_of(
        a_volume_claim("bound", volume="pv"), a_volume(), a_volume_claim("new", storage_class="old"), in_tree
    )
    found = mounts(using("pod", "bound", "new"), volumes).attached
    assert found == ((EBS, "default/new"), (EBS, "handle-pv"))


def test_volumes_without_a_driver_attach_nothing() -> None:
    volumes = volumes_of(a_volume_claim(volume="pv"), a_volume(driver=None, zone="a"))
    assert mounts(using("pod", "data"), volumes).attached == ()
