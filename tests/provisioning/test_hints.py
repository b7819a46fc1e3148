"""Placement hints: who is told a node, and how often (S-1, S-62)."""

from karpenter.model.units import UnixSeconds
from karpenter.provisioning.hints import FIRST_PAUSE_S, MOST_HINTS, HintBook
from tests.builders import EPOCH, a_pod


def test_a_waiting_pod_is_told_its_node_at_once() -> None:
    assert HintBook().due_in(a_pod(), "n1", EPOCH) == 0.0


def test_s1_a_nomination_that_we_did_not_make_stands() -> None:
    assert HintBook().due_in(a_pod(nominated="n2"), "n1", EPOCH) is None


def test_a_bound_pod_needs_no_hint() -> None:
    assert HintBook().due_in(a_pod(node="n2"), "n1", EPOCH) is None


def test_a_hint_of_ours_follows_the_plan_to_another_node() -> None:
    book = HintBook()
    book.told(a_pod(), "n1")
    assert book.due_in(a_pod(nominated="n1"), "n1", EPOCH) is None
    assert book.due_in(a_pod(nominated="n1"), "n2", EPOCH) == 0.0


def test_a_hint_that_is_taken_back_is_given_again_ever_more_slowly_and_not_for_ever() -> None:
    book, now, pauses = HintBook(), EPOCH, []
    book.told(a_pod(), "n1")
    while (wait_s := book.due_in(a_pod(), "n1", now)) is not None:
        pauses.append(round(wait_s, 6))
        now = UnixSeconds(now + wait_s + 0.001)
        assert book.due_in(a_pod(), "n1", now) == 0.0
        book.told(a_pod(), "n1")
    assert pauses == [FIRST_PAUSE_S * 2**number for number in range(MOST_HINTS - 1)]


def test_another_pod_of_the_same_name_was_told_nothing() -> None:
    book = HintBook()
    book.told(a_pod(uid="old"), "n1")
    assert book.due_in(a_pod(uid="new", nominated="n1"), "n2", EPOCH) is None
