"""What is remembered between pods never shows: a long memory chooses as a fresh look does."""

from random import Random

from msgspec.structs import replace

from karpenter.model.core import Pod
from tests.builders import a_node, a_pod
from tests.sim.scheduler.worlds import World

ZONE = "topology.kubernetes.io/zone"


def test_no_nodes_at_all_has_words_of_its_own() -> None:
    assert World().place(a_pod()).message == "no nodes available to schedule pods"


def test_a_verdict_is_given_anew_once_the_cluster_changed() -> None:
    world = World(a_node("n1", cpu="1"))
    assert world.node_for(a_pod(cpu="2")) is None
    world.cache.set_node(a_node("n2", cpu="4"))
    assert world.node_for(a_pod(cpu="2")) == "n2"


def test_new_facts_about_the_surroundings_are_seen() -> None:
    affinity = {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "topologyKey": ZONE,
                    "labelSelector": {"matchLabels": {"app": "db"}},
                    "namespaceSelector": {"matchLabels": {"team": "x"}},
                }
            ]
        }
    }
    world = World(a_node("n1", zone="a"), bound=[a_pod("db", namespace="data", labels={"app": "db"}, node="n1")])
    pod = a_pod("web", affinity=affinity)
    assert world.node_for(pod) is None
    world.surroundings.namespaces = {"data": {"team": "x"}}
    world.surroundings.stamp += 1
    assert world.node_for(pod) == "n1"


def random_pod(random: Random, name: str) -> Pod:
    label = random.choice(["web", "db"])
    selector = {"labelSelector": {"matchLabels": {"app": label}}}
    strictness = random.choice(["DoNotSchedule", "ScheduleAnyway"])
    spread = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": strictness, **selector}
    term = {"topologyKey": random.choice([ZONE, "kubernetes.io/hostname"]), **selector}
    kind = random.choice(["podAffinity", "podAntiAffinity"])
    weighted = [{"weight": random.randint(1, 100), "podAffinityTerm": term}]
    return a_pod(
        name,
        cpu=random.choice(["100m", "1", None]),
        labels={"app": label},
        spread=[spread] if random.random() < 0.5 else (),
        affinity=random.choice(
            [
                None,
                {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}},
                {kind: {"preferredDuringSchedulingIgnoredDuringExecution": weighted}},
            ]
        ),
        tolerations=random.choice([(), [{"key": "a", "operator": "Exists"}]]),
        node_selector=random.choice([{}, {ZONE: "a"}]),
    )


def test_a_long_memory_chooses_as_a_fresh_look_does() -> None:
    random = Random(5)
    zones = ["a", "b", "c"]
    nodes = [a_node(f"n{n}", zone=zones[n % 3], taints=["a:NoSchedule"] if n % 4 == 0 else ()) for n in range(8)]
    world = World(*nodes)
    bound: list[Pod] = []
    for number in range(120):
        pod = random_pod(random, f"p{number}")
        fresh = World(*nodes, seed=number)
        for other in bound:
            fresh.bind(other, other.spec.node_name)
        world.draw.seed(number)  # the draw among equals is not what this compares
        chosen = world.place(pod)
        assert chosen == fresh.place(pod)
        if world.node_for(pod) is not None:
            world.bind(pod, chosen.node)
            bound.append(a_pod_on(pod, chosen.node))
        if bound and random.random() < 0.2:
            gone = bound.pop(random.randrange(len(bound)))
            world.cache.remove_pod(gone.metadata.uid)


def a_pod_on(pod: Pod, node: str) -> Pod:
    return replace(pod, spec=replace(pod.spec, node_name=node))
