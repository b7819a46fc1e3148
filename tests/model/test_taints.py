"""Which tolerations cover which taints (SCH-17)."""

import pytest

from karpenter.model.taints import Taint, Toleration, is_ephemeral, untolerated
from tests.builders import a_taint

TAINT = a_taint("example.com/team=red:NoSchedule")


@pytest.mark.parametrize(
    "toleration",
    [
        Toleration(key="example.com/team", operator="Equal", value="red", effect="NoSchedule"),
        Toleration(key="example.com/team", value="red"),
        Toleration(key="example.com/team", operator="Exists"),
        Toleration(key="example.com/team", operator="Exists", effect="NoSchedule"),
        Toleration(operator="Exists"),
        Toleration(operator="Exists", effect="NoSchedule"),
    ],
)
def test_a_toleration_covers_a_taint_that_it_names(toleration: Toleration) -> None:
    assert toleration.tolerates(TAINT)


@pytest.mark.parametrize(
    "toleration",
    [
        Toleration(key="example.com/team", operator="Equal", value="blue"),
        Toleration(key="example.com/team"),
        Toleration(key="example.com/other", operator="Exists"),
        Toleration(key="example.com/team", operator="Exists", effect="NoExecute"),
        Toleration(operator="Exists", effect="PreferNoSchedule"),
        Toleration(),
        Toleration(value="red"),
        Toleration(key="example.com/team", operator="exists"),
    ],
)
def test_a_toleration_of_something_else_does_not(toleration: Toleration) -> None:
    assert not toleration.tolerates(TAINT)


def test_preferred_taints_keep_pods_away_until_they_are_relaxed() -> None:
    """SCH-17."""
    soft = a_taint("soft:PreferNoSchedule")
    assert untolerated([soft, TAINT], ()) == (soft, TAINT)
    assert untolerated([soft, TAINT], (), ignore_preferred=True) == (TAINT,)


def test_every_taint_needs_a_toleration_of_its_own() -> None:
    other = a_taint("other:NoExecute")
    assert untolerated([TAINT, other], [Toleration(key="other", operator="Exists")]) == (TAINT,)


@pytest.mark.parametrize(
    "taint, goes_away",
    [
        (a_taint("node.kubernetes.io/not-ready:NoSchedule"), True),
        (a_taint("node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule"), True),
        (a_taint("karpenter.sh/unregistered:NoExecute"), True),
        (a_taint("readiness.k8s.io/storage:NoSchedule"), True),
        (a_taint("node.kubernetes.io/unreachable:NoExecute"), False),
        (TAINT, False),
    ],
    ids=str,
)
def test_taints_of_a_booting_node_are_known(taint: Taint, goes_away: bool) -> None:
    assert is_ephemeral(taint) is goes_away
