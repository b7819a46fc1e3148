"""Nominated pods, as kube-scheduler 1.36 treats them: their node first, and room kept for them there."""

from karpenter.sim.scheduler.diagnosis import Unschedulable
from tests.builders import a_node, a_pod
from tests.sim.scheduler.worlds import World


def test_the_nominated_node_is_taken_however_good_others_are() -> None:
    world = World(a_node("n1", cpu="2"), a_node("n2", cpu="64"))
    assert world.node_for(a_pod()) == "n2"
    world.nominate(a_pod(), "n1")
    assert world.node_for(a_pod()) == "n1"


def test_a_nominated_node_that_will_not_do_is_passed_by() -> None:
    world = World(a_node("n1", cpu="1"), a_node("n2", cpu="4"))
    for node in ("n1", "gone"):
        world.nominate(a_pod(cpu="2"), node)
        assert world.node_for(a_pod(cpu="2")) == "n2"


def test_room_is_kept_from_pods_that_are_no_more_important() -> None:
    world = World(a_node("n1", cpu="2"))
    world.nominate(a_pod("awaited", cpu="2", priority=5), "n1")
    assert isinstance(world.place(a_pod("equal", cpu="1", priority=5)), Unschedulable)
    assert world.node_for(a_pod("vip", cpu="1", priority=6)) == "n1"
    assert world.node_for(a_pod("awaited", cpu="2", priority=5)) == "n1"


def test_a_verdict_is_given_anew_once_the_room_is_free_again() -> None:
    world = World(a_node("n1", cpu="2"))
    world.nominate(a_pod("awaited", cpu="2"), "n1")
    assert world.node_for(a_pod("other")) is None
    world.nominations.drop(a_pod("awaited").metadata.uid)
    assert world.node_for(a_pod("other")) == "n1"


def test_anti_affinity_counts_pods_that_wait_for_the_node() -> None:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "db"}}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    world = World(a_node("n1"))
    world.nominate(a_pod("first", labels={"app": "db"}), "n1")
    assert world.node_for(a_pod("second", affinity=apart)) is None
