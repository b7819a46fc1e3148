"""Even levels under limits, against pouring drop by drop."""

from hypothesis import given
from hypothesis import strategies as st

from karpenter.scheduling.trials.levels import levelled

vessels = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=4)


@given(vessels, st.integers(0, 20))
def test_vessels_fill_up_as_if_drop_by_drop_into_the_emptiest(pairs: list[tuple[int, int]], amount: int) -> None:
    level = [low for low, _ in pairs]
    limit = [low + more for low, more in pairs]
    given = levelled(level, limit, amount)
    assert sum(given) == min(amount, sum(more for _, more in pairs))
    assert all(0 <= part <= more for part, (_, more) in zip(given, pairs, strict=True))
    ends = sorted(low + part for low, part in zip(level, given, strict=True))
    drops = sorted(low + part for low, part in zip(level, _by_drops(level, limit, amount), strict=True))
    assert ends == drops


def _by_drops(level: list[int], limit: list[int], amount: int) -> list[int]:
    now = list(level)
    for _ in range(amount):
        free = [at for at in range(len(now)) if now[at] < limit[at]]
        if free:
            now[min(free, key=now.__getitem__)] += 1
    return [end - begin for end, begin in zip(now, level, strict=True)]
