"""Random fills of machines keep every rule and leave no room for more of what was drawn."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from karpenter.scheduling.packing.dice import Dice
from karpenter.scheduling.packing.groups import Group
from karpenter.scheduling.packing.variants import Variants
from tests.scheduling.packing.problems import OFFERS, a_problem, is_allowed

ROWS = np.repeat(np.arange(len(OFFERS)), 5)
REQUESTS = [(300, 500), (500, 4000), (1000, 1000), (1500, 6000), (0, 700)]
flags = st.lists(st.booleans(), min_size=5, max_size=5).map(np.array)
groups = st.lists(st.builds(Group, flags, flags, st.integers(0, 3)), max_size=2).map(tuple)


@settings(max_examples=60)
@given(groups, st.integers(0, 9), st.booleans())
def test_a_filled_machine_keeps_every_rule(groups, seed: int, refill: bool) -> None:
    admits = np.ones((len(OFFERS), 5), dtype=bool)
    admits[::2, 3] = False
    problem = a_problem(
        REQUESTS,
        [9, 4, 6, 3, 5],
        admits=admits,
        groups=groups,
        clique=np.array([0, -1, 0, -1, -1]),
        most=np.array([3.0, np.inf]),
    )
    variants = Variants(problem, dice=Dice(seed))
    copies = variants.draw(ROWS, problem.count, np.array([0.1, 0.2, 0.3, 0.4, 0.1]))
    if refill:
        half = copies * (np.arange(5) % 2)
        copies = variants.draw(ROWS, problem.count, np.array([0.1, 0.2, 0.3, 0.4, 0.1]), base=half)
        assert (copies >= half).all()
    assert (copies <= problem.count).all()
    assert (copies @ problem.request <= problem.room[ROWS]).all()
    assert not copies[~admits[ROWS]].any()
    assert all(is_allowed(problem, load) for load in copies)


def test_a_machine_is_filled_to_the_last_copy_that_fits() -> None:
    """Amounts are exact: 4000 is four times 1000, and 8 GiB in bytes eight times 1 GiB."""
    gibibyte = 2**30
    problem = a_problem([(1000, 2 * gibibyte)], [100], room=OFFERS * [1, gibibyte / 1000])
    copies = Variants(problem, dice=Dice()).draw(np.array([0, 1, 2, 3]), problem.count, np.ones(1))
    assert copies[:, 0].tolist() == [1, 2, 4, 8]


def test_worthless_shapes_stay_out() -> None:
    problem = a_problem(REQUESTS, [9, 4, 6, 3, 5])
    worth = np.array([0.1, 0.0, 0.3, 0.0, 0.1])
    assert not Variants(problem, dice=Dice()).draw(ROWS, problem.count, worth)[:, [1, 3]].any()
