"""Room that is there already comes before machines that cost money."""

from karpenter.model import labels
from tests.builders import a_daemon, a_node_view, a_pod
from tests.scheduling.toys import machines, on_demand, pods, solved, toys


def test_pods_go_to_existing_nodes_first() -> None:
    solution = solved(pods(5), nodes=[a_node_view("n", cpu="4")])
    assert sorted(solution.placements.values()) == ["default-1", *["n"] * 4]


def test_free_room_on_a_node_of_a_light_pool_comes_before_a_new_machine_of_a_heavy_one() -> None:
    """TV-72, second half."""
    light, heavy = on_demand("light", weight=10), on_demand("heavy", weight=50)
    solution = solved([a_pod()], pools=[light, heavy], nodes=[a_node_view("n", pool=light)])
    assert solution.placements == {("default", "pod"): "n"}


def test_the_tightest_node_that_fits_is_filled_first() -> None:
    nodes = [a_node_view("large", cpu="8"), a_node_view("small", cpu="2")]
    assert solved([a_pod()], nodes=nodes).placements == {("default", "pod"): "small"}


def test_initialized_nodes_come_before_claims_in_flight() -> None:
    """SCH-4."""
    nodes = [a_node_view("a-coming", cpu="1", is_initialized=False), a_node_view("b-there", cpu="8")]
    assert solved([a_pod()], nodes=nodes).placements == {("default", "pod"): "b-there"}


def test_claims_in_flight_come_before_new_machines() -> None:
    coming = a_node_view("coming", is_initialized=False)
    assert solved([a_pod()], nodes=[coming]).placements == {("default", "pod"): "coming"}


def test_a_node_that_is_leaving_offers_nothing() -> None:
    assert machines(solved([a_pod()], nodes=[a_node_view(is_deleting=True)])) == ["c.1"]


def test_bound_pods_take_their_share() -> None:
    """SCH-7."""
    full = a_node_view("n", cpu="4", pods=[a_pod("b", cpu="3500m", node="n")])
    assert machines(solved([a_pod()], nodes=[full])) == ["c.1"]


def test_daemons_that_are_still_to_come_take_their_share() -> None:
    """SCH-4."""
    node = a_node_view("n", cpu="2")
    assert solved([a_pod(cpu="1500m")], nodes=[node], daemons=[a_daemon(cpu="500m")]).placements == {
        ("default", "pod"): "n"
    }
    assert machines(solved([a_pod(cpu="1500m")], nodes=[node], daemons=[a_daemon(cpu="600m")])) == ["c.4"]


def test_daemons_that_are_there_are_not_counted_twice() -> None:
    """SCH-4."""
    there = a_daemon(cpu="600m", node="n")
    node = a_node_view("n", cpu="2", pods=[there])
    assert solved([a_pod(cpu="1400m")], nodes=[node], daemons=[a_daemon(cpu="600m")]).placements == {
        ("default", "pod"): "n"
    }


def test_a_daemon_that_waits_for_an_initialized_node_is_expected_on_one_that_comes_up() -> None:
    waits = a_daemon(cpu="600m", node_selector={labels.INITIALIZED: "true"})
    coming = a_node_view("n", cpu="2", is_initialized=False, is_managed=True)
    assert machines(solved([a_pod(cpu="1500m")], nodes=[coming], daemons=[waits])) == ["c.4"]


def test_a_node_on_which_anything_is_overdrawn_has_no_room_at_all() -> None:
    """SCH-11."""
    overdrawn = a_node_view("n", cpu="8", memory="1Gi", pods=[a_pod("b", memory="2Gi", node="n")])
    assert machines(solved([a_pod(memory=None)], nodes=[overdrawn])) == ["c.1"]


def test_pods_that_can_go_nowhere_else_get_the_nodes_before_those_that_can() -> None:
    tied = a_pod("tied", cpu="2", node_selector={labels.HOSTNAME: "n"})
    solution = solved([a_pod("free", cpu="3"), tied], nodes=[a_node_view("n", cpu="4")])
    assert solution.placements[tied.metadata.key] == "n"
    assert machines(solution) == ["c.4"]


def test_when_room_is_short_the_higher_priority_gets_it() -> None:
    wanted = [a_pod("low", priority=1), a_pod("high", priority=1000)]
    assert solved(wanted, pools=[], nodes=[a_node_view("n", cpu="1")]).placements == {("default", "high"): "n"}


def test_a_foreign_node_counts_as_room() -> None:
    assert solved([a_pod()], nodes=[a_node_view("theirs", is_managed=False)], types=toys()).new_claims == ()


def test_the_oldest_pods_of_a_kind_are_served_first() -> None:
    wanted = [a_pod("young", created="2023-11-14T22:10:00Z"), a_pod("old", created="2023-11-14T21:00:00Z")]
    assert solved(wanted, pools=[], nodes=[a_node_view("n", cpu="1")]).placements == {("default", "old"): "n"}
