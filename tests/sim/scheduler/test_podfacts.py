"""Pods that ask for the same share their facts."""

import gc
import weakref

from karpenter.sim.scheduler.podfacts import FactsBook
from tests.builders import a_pod


def test_replicas_share_their_facts() -> None:
    book = FactsBook()
    assert book.of(a_pod("a", labels={"app": "web"})) is book.of(a_pod("b", labels={"app": "web"}, node="n1"))


def test_pods_that_differ_in_what_matters_do_not() -> None:
    book = FactsBook()
    facts = book.of(a_pod("a"))
    for other in (
        a_pod("b", cpu="2"),
        a_pod("b", labels={"x": "y"}),
        a_pod("b", namespace="n"),
        a_pod("b", owner=None),
    ):
        assert book.of(other) is not facts


def test_facts_that_no_pod_needs_any_more_are_forgotten() -> None:
    book = FactsBook()
    facts = book.of(a_pod("a"))
    reference = weakref.ref(facts)
    del facts
    gc.collect()
    assert reference() is None


def test_pods_with_ephemeral_volumes_have_claims_of_their_own() -> None:
    book = FactsBook()
    volumes = [{"name": "scratch", "ephemeral": {}}]
    first, second = (book.of(a_pod(name, volumes=volumes)) for name in ("a", "b"))
    assert [str(claim.key) for claim in first.claims] == ["default/a-scratch"]
    assert [str(claim.key) for claim in second.claims] == ["default/b-scratch"]
