from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from karpenter.model import labels
from karpenter.model.core import Node
from karpenter.sim.controllers.volumes.disk import ZoneProblem, choose_zone, new_volume
from karpenter.sim.storagekinds import StorageClass
from tests.sim.clusters import node
from tests.sim.controllers.volumes.storage import a_claim, class_manifest


def a_class(**more: Any) -> StorageClass:
    return msgspec.convert(class_manifest("gp3", **more), StorageClass)


def nodes(*zones: str) -> Iterable[Node]:
    return [msgspec.convert(node(f"n-{zone}", zone=zone), Node) for zone in zones]


def zone_of(name: str, *, selected: str | None = None, **chosen: Any) -> str:
    return choose_zone(a_claim(name), a_class(**chosen), nodes("a", "b", "c"), selected=selected)


def test_the_disk_is_made_in_the_zone_of_the_node_that_was_chosen() -> None:
    assert zone_of("data", selected="n-b") == "b"


def test_without_a_node_the_pods_of_a_set_go_round_the_zones_with_all_their_disks() -> None:
    zones = [zone_of(f"data-db-{number}") for number in range(6)]
    assert set(zones[:3]) == {"a", "b", "c"}
    assert zones[3:] == zones[:3]
    assert [zone_of(f"logs-db-{number}") for number in range(6)] == zones


def test_without_a_node_only_zones_that_the_class_allows_are_used() -> None:
    for key in (labels.ZONE, "topology.ebs.csi.aws.com/zone"):
        allowed = [{"matchLabelExpressions": [{"key": key, "values": ["c", "d"]}]}]
        assert {zone_of(f"data-db-{number}", allowedTopologies=allowed) for number in range(9)} == {"c", "d"}


def test_what_cannot_be_made_says_why() -> None:
    with pytest.raises(ZoneProblem, match="no available topology found"):
        choose_zone(a_claim(), a_class(), [], selected=None)
    with pytest.raises(ZoneProblem, match="Only AccessModes"):
        choose_zone(a_claim(accessModes=["ReadWriteMany"]), a_class(), nodes("a"), selected=None)


def test_a_disk_has_whole_gibibytes_and_is_tied_to_its_zone() -> None:
    body = new_volume(a_claim(storage="1500Mi"), a_class(reclaimPolicy="Retain"), "b")
    assert body["metadata"]["name"] == "pvc-uid-data"
    assert body["spec"]["capacity"] == {"storage": "2Gi"}
    assert body["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    assert body["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"] == [
        {"matchExpressions": [{"key": labels.ZONE, "operator": "In", "values": ["b"]}]}
    ]
