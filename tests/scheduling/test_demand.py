"""Ways to want capacity, and ways to end a solve."""

from collections.abc import Sequence

from karpenter.model.core import Pod
from karpenter.scheduling import Demand, Options, Reason, Solution, Unschedulable, solve
from tests.builders import a_node_view, a_pod, a_snapshot
from tests.scheduling.toys import on_demand, pods, toys
from tests.scheduling.verifier import breaches


def solved(demand: Demand, **world) -> Solution:
    snapshot = a_snapshot(types=toys(), **{"pools": [on_demand()], **world})
    solution = solve(snapshot, demand)
    assert breaches(snapshot, demand, solution) == []
    return solution


def test_a_group_that_does_not_fit_as_a_whole_is_not_placed_at_all() -> None:
    solution = solved(Demand((a_pod("small"), a_pod("huge", cpu="70")), fulfilment="all-or-nothing"))
    assert (solution.new_claims, solution.placements) == ((), {})
    codes = {entry.pod.metadata.name: entry.reasons[0].code for entry in solution.unschedulable}
    assert codes == {"small": "GroupIncomplete", "huge": "InsufficientResources"}


def test_a_group_that_fits_is_placed() -> None:
    assert len(solved(Demand(tuple(pods(3)), fulfilment="all-or-nothing")).placements) == 3


def test_a_check_launches_nothing() -> None:
    solution = solved(Demand(tuple(pods(2)), fulfilment="check-only"), nodes=[a_node_view("n", cpu="1")])
    assert (solution.new_claims, list(solution.placements.values())) == ((), ["n"])
    (refused,) = solution.unschedulable
    assert refused.reasons == (Reason(None, "pool", "NoRoom", "no node has room for it, and nothing may be launched"),)


def test_no_pods_need_no_machines() -> None:
    assert solved(Demand(())) == Solution(lower_bound=0.0, rails_cost=0.0)


def test_a_stopped_solve_says_so_and_judges_no_pod() -> None:
    snapshot = a_snapshot(types=toys(), pools=[on_demand()])
    solution = solve(snapshot, Demand.each(pods(3)), stop=lambda: True)
    assert solution == Solution(complete=False)


def test_a_solve_stopped_half_way_keeps_what_it_found() -> None:
    answers = iter([False, True])
    snapshot = a_snapshot(types=toys(), pools=[on_demand()], nodes=[a_node_view("n", cpu="1")])
    solution = solve(snapshot, Demand.each(pods(3)), stop=lambda: next(answers, True))
    assert (solution.complete, solution.unschedulable) == (False, ())
    assert list(solution.placements.values()) == ["n"]


class Recorder:
    def __init__(self) -> None:
        self.events: list[tuple[str, int, str]] = []
        self.steps: list[tuple[str, int, int]] = []

    def placed(self, pods: Sequence[Pod], place: str) -> None:
        self.events.append(("placed", len(pods), place))

    def rejected(self, refused: Unschedulable) -> None:
        self.events.append(("rejected", 1, refused.pod.metadata.name))

    def relaxed(self, pods: Sequence[Pod], preference: str) -> None:
        self.events.append(("relaxed", len(pods), preference))

    def progress(self, phase: str, done: int, total: int) -> None:
        self.steps.append((phase, done, total))


def test_the_reporter_hears_what_was_placed_relaxed_and_rejected() -> None:
    wish = {
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 1,
                    "preference": {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]},
                }
            ]
        }
    }
    recorder = Recorder()
    snapshot = a_snapshot(types=toys(), pools=[on_demand()], nodes=[a_node_view("n", cpu="1")])
    solve(snapshot, Demand.each([*pods(3, affinity=wish), a_pod("huge", cpu="70")]), reporter=recorder)
    assert recorder.events == [
        ("relaxed", 3, "preferred node affinity disk In [ssd]"),
        ("placed", 1, "n"),
        ("placed", 2, "default-1"),
        ("rejected", 1, "huge"),
    ]


def test_the_reporter_hears_how_far_a_long_solve_has_come() -> None:
    recorder = Recorder()
    sizes = [(f"{100 * at}m", f"{128 * at}Mi") for at in range(1, 9)]
    wanted = [a_pod(f"p{at}", cpu=cpu, memory=memory) for at in range(80) for cpu, memory in [sizes[at % 8]]]
    solve(a_snapshot(types=toys(), pools=[on_demand()]), Demand.each(wanted), Options(rounds=20), reporter=recorder)
    phases = list(dict.fromkeys(phase for phase, _, _ in recorder.steps))
    assert phases == ["filling nodes", "choosing machines", "refining machines", "proving the bound"]
    assert all(0 <= done < total for _, done, total in recorder.steps)
