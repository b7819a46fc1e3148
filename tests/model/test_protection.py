"""Which pods must not be moved: spec v1 B-1, vector V36, case DND-RACE (c)."""

import pytest

from karpenter.model.protection import Protection, misread_protection, protected_until, protection
from karpenter.model.units import UnixSeconds, from_rfc3339
from tests.builders import CREATED, EPOCH, a_pod

STARTED = from_rfc3339(CREATED)
KEY = "karpenter.sh/do-not-disrupt"


def minutes(number: float) -> UnixSeconds:
    return UnixSeconds(STARTED + 60 * number)


def test_case_dnd_race_c_a_duration_protects_from_the_pods_start_on_v36() -> None:
    pod = a_pod(node="n", annotations={KEY: "30m"})
    assert protection(pod, minutes(29)) == Protection(f"{KEY}: 30m", until=minutes(30))
    assert protection(pod, minutes(31)) is None


def test_a_pod_that_has_not_started_yet_is_protected() -> None:
    pod = a_pod(annotations={KEY: "30m"})
    assert protection(pod, EPOCH) == Protection(f"{KEY}: 30m")


@pytest.mark.parametrize("key", [KEY, "karpenter.sh/do-not-evict"])
def test_true_protects_for_good(key: str) -> None:
    assert protection(a_pod(node="n", annotations={key: "true"}), EPOCH) == Protection(f"{key}: true")


@pytest.mark.parametrize("value", ["0s", "-5m", "soon", ""])
def test_case_dnd_race_c_what_means_nothing_does_not_protect_and_can_be_told_v36(value: str) -> None:
    pod = a_pod(node="n", annotations={KEY: value})
    assert protection(pod, EPOCH) is None
    assert misread_protection(pod) == value


@pytest.mark.parametrize("value", ["true", "false", "1h", None])
def test_what_is_understood_is_not_complained_about(value: str | None) -> None:
    assert misread_protection(a_pod(annotations={KEY: value} if value else {})) is None


def test_the_end_of_timed_protection_is_known_also_after_it_is_over() -> None:
    timed = a_pod(node="n", annotations={KEY: "30m"})
    assert protected_until(timed) == minutes(30)
    assert [protected_until(a_pod(node="n", annotations={KEY: value})) for value in ("true", "soon")] == [None, None]
    assert protected_until(a_pod(annotations={KEY: "30m"})) is None
