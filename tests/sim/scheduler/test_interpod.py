"""Pod affinity and anti-affinity, both ways."""

from collections import Counter

from karpenter.model.core import Node, Pod
from tests.builders import a_node, a_pod
from tests.sim.scheduler.worlds import World, WrittenSurroundings

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"


def term(app: str, key: str = ZONE, **more: object) -> dict:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}, **more}


def near(*terms: dict) -> dict:
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def apart(*terms: dict) -> dict:
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def preferred(kind: str, *terms: dict, weight: int = 100) -> dict:
    weighted = [{"weight": weight, "podAffinityTerm": one} for one in terms]
    return {kind: {"preferredDuringSchedulingIgnoredDuringExecution": weighted}}


def app(name: str, label: str, affinity: dict | None = None, *, node: str = "", **more: object) -> Pod:
    return a_pod(name, cpu="100m", memory="64Mi", labels={"app": label}, affinity=affinity, node=node, **more)


def nodes() -> list[Node]:
    return [a_node("n1", zone="a"), a_node("n2", zone="a"), a_node("n3", zone="b")]


def test_affinity_keeps_to_the_domain_of_its_companion() -> None:
    world = World(*nodes(), bound=[app("db", "db", node="n3")])
    assert world.node_for(app("web", "web", near(term("db")))) == "n3"
    assert world.why_not(app("web", "web", near(term("cache")))) == (
        "0/3 nodes are available: 3 node(s) didn't match pod affinity rules."
    )


def test_the_first_pod_of_a_group_that_wants_itself_may_go_anywhere() -> None:
    world = World(*nodes())
    placed = world.fill(app(f"p{number}", "web", near(term("web", HOST))) for number in range(3))
    assert len(set(placed.values())) == 1
    assert None not in placed.values()


def test_a_companion_must_match_all_terms() -> None:
    world = World(*nodes(), bound=[app("db", "db", node="n1"), app("cache", "cache", node="n3")])
    assert world.node_for(app("web", "web", near(term("db"), term("cache")))) is None


def test_anti_affinity_gives_each_pod_a_host_of_its_own() -> None:
    world = World(*nodes())
    placed = world.fill(app(f"p{number}", "web", apart(term("web", HOST))) for number in range(4))
    assert Counter(placed.values()) == {"n1": 1, "n2": 1, "n3": 1, None: 1}
    assert world.why_not(app("late", "web", apart(term("web", HOST)))) == (
        "0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules."
    )


def test_anti_affinity_of_running_pods_holds_against_newcomers() -> None:
    world = World(*nodes(), bound=[app("loner", "loner", apart(term("web")), node="n1")])
    assert world.node_for(app("web", "web")) == "n3"
    full = World(a_node("n1", zone="a"), bound=[app("loner", "loner", apart(term("web")), node="n1")])
    assert full.why_not(app("web", "web")) == (
        "0/1 nodes are available: 1 node(s) didn't satisfy existing pods anti-affinity rules."
    )


def test_anti_affinity_ends_with_the_pod_that_had_it() -> None:
    loner = app("loner", "loner", apart(term("web")), node="n1")
    world = World(a_node("n1", zone="a"), bound=[loner])
    assert world.node_for(app("web", "web")) is None
    world.cache.remove_pod(loner.metadata.uid)
    assert world.node_for(app("web", "web")) == "n1"


def test_terms_speak_of_the_pods_own_namespace_unless_they_name_others() -> None:
    world = World(*nodes(), bound=[app("db", "db", node="n3", namespace="data")])
    assert world.node_for(app("web", "web", near(term("db")))) is None
    assert world.node_for(app("web", "web", near(term("db", namespaces=["data"])))) == "n3"


def test_namespaces_may_be_selected_by_their_labels() -> None:
    selects_team = {"namespaceSelector": {"matchLabels": {"team": "x"}}}
    bound = [app("db", "db", node="n3", namespace="data")]
    ours = World(*nodes(), bound=bound, surroundings=WrittenSurroundings({"data": {"team": "x"}}))
    assert ours.node_for(app("web", "web", near(term("db", **selects_team)))) == "n3"
    theirs = World(*nodes(), bound=bound, surroundings=WrittenSurroundings({"data": {"team": "y"}}))
    assert theirs.node_for(app("web", "web", near(term("db", **selects_team)))) is None
    assert theirs.node_for(app("web", "web", near(term("db", namespaceSelector={})))) == "n3"


def test_mismatch_label_keys_leave_out_pods_of_the_same_value() -> None:
    def tenant(name: str, value: str, affinity: dict | None = None, node: str = "") -> Pod:
        return a_pod(name, cpu="1m", labels={"tenant": value}, affinity=affinity, node=node)

    others = {
        "topologyKey": ZONE,
        "labelSelector": {"matchExpressions": [{"key": "tenant", "operator": "Exists"}]},
        "mismatchLabelKeys": ["tenant"],
    }
    world = World(*nodes(), bound=[tenant("a", "x", node="n1"), tenant("b", "y", node="n3")])
    assert world.node_for(tenant("c", "y", apart(others))) == "n3"


def test_preferred_affinity_outweighs_an_emptier_node() -> None:
    world = World(*nodes(), bound=[app("db", "db", node="n3")])
    assert world.node_for(app("web", "web", preferred("podAffinity", term("db")))) == "n3"


def test_preferred_anti_affinity_avoids_but_does_not_refuse() -> None:
    one_zone = World(a_node("n1", zone="a"), bound=[app("db", "db", node="n1")])
    assert one_zone.node_for(app("web", "web", preferred("podAntiAffinity", term("db")))) == "n1"
    bound = [app("db", "db", node="n1"), a_pod("big", cpu="2", memory="8Gi", node="n3")]
    two_zones = World(a_node("n1", zone="a"), a_node("n3", zone="b"), bound=bound)
    assert two_zones.node_for(app("web", "web", preferred("podAntiAffinity", term("db")))) == "n3"


def test_preferences_of_running_pods_attract_newcomers() -> None:
    fan = app("fan", "fan", preferred("podAffinity", term("web")), node="n3")
    world = World(a_node("n1", zone="a"), a_node("n3", zone="b"), bound=[fan])
    assert world.node_for(app("web", "web")) == "n3"
