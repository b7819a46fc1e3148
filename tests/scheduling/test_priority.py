"""Priorities: pods below the cut-off use what is there and launch nothing."""

from karpenter.scheduling import Options, Policy
from tests.builders import a_node_view, a_pod
from tests.scheduling.toys import machines, pods, solved, why

CUT = Options(Policy(expendable_priority=0))


def test_pods_below_the_cut_off_launch_nothing() -> None:
    filler = pods(2, name="filler", priority=-10)
    solution = solved([*filler, a_pod("real", cpu="1")], options=CUT)
    assert machines(solution) == ["c.1"]
    assert {entry.pod.metadata.name for entry in solution.unschedulable} == {"filler-0", "filler-1"}


def test_they_still_use_room_that_is_there() -> None:
    assert solved([a_pod(priority=-10)], options=CUT, nodes=[a_node_view("n")]).placements == {("default", "pod"): "n"}


def test_the_cut_off_itself_is_worth_a_machine() -> None:
    assert machines(solved([a_pod(priority=0)], options=CUT)) == ["c.1"]


def test_v39_where_room_is_short_the_larger_of_equally_important_pods_goes_first() -> None:
    """Upstream goes by size alone (S-11); here importance comes before it."""
    small, large = a_pod("small", cpu="1", priority=0), a_pod("large", cpu="3", priority=0)
    vital = a_pod("small", cpu="1", priority=1000)
    room = a_node_view("n", cpu="3")
    assert solved([small, large], pools=[], nodes=[room]).placements == {("default", "large"): "n"}
    assert solved([vital, large], pools=[], nodes=[room]).placements == {("default", "small"): "n"}


def test_the_reason_names_both_priorities() -> None:
    ((code, message),) = why(solved([a_pod(priority=-10)], options=CUT))
    assert code == "PriorityTooLow"
    assert "-10, is below 0" in message


def test_those_that_keep_company_launch_nothing_either() -> None:
    together = {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "x"}}}
            ]
        }
    }
    filler = pods(2, name="filler", priority=-10, labels={"app": "x"}, affinity=together)
    assert machines(solved(filler, options=CUT)) == []
