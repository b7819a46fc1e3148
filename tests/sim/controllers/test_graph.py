"""What garbage collection does about one object."""

import pytest

from karpenter.model.meta import ObjectMeta, OwnerReference
from karpenter.runtime.kube import PODS
from karpenter.sim.controllers.graph import (
    Action,
    Delete,
    DropForeground,
    Graph,
    KeepOwners,
    OwnerState,
    ReleaseDependents,
    Tracked,
    WakeDependents,
    decide,
)

SOLID, WAITING, GONE = OwnerState.SOLID, OwnerState.WAITING, OwnerState.GONE


def owner(uid: str, *, blocks: bool = True) -> OwnerReference:
    return OwnerReference("apps/v1", "ReplicaSet", f"name-{uid}", uid, block_owner_deletion=blocks)


def tracked(uid: str, *owners: OwnerReference, finalizers: tuple[str, ...] = (), deleting: bool = False) -> Tracked:
    deleted = "2023-11-14T22:13:20Z" if deleting else None
    metadata = ObjectMeta(name=uid, uid=uid, owner_references=owners, finalizers=finalizers, deletion_timestamp=deleted)
    return Tracked(PODS, metadata)


A, B = owner("a"), owner("b")
CHILD = tracked("child", owner("x"))
STRAY_CHILD = tracked("child", owner("x", blocks=False))


@pytest.mark.parametrize(
    "one, dependents, standing, action",
    [
        (tracked("x"), (), {}, None),
        (tracked("x", A), (), {"a": SOLID}, None),
        (tracked("x", A), (), {"a": GONE}, Delete("Background")),
        (tracked("x", A, B), (), {"a": GONE, "b": SOLID}, KeepOwners((B,))),
        (tracked("x", A, B), (), {"a": GONE, "b": GONE}, Delete("Background")),
        (tracked("x", A), (), {"a": WAITING}, Delete("Background")),
        (tracked("x", A), (CHILD,), {"a": WAITING}, Delete("Foreground")),
        (tracked("x", A, B), (), {"a": WAITING, "b": SOLID}, KeepOwners((B,))),
        (tracked("x", A, finalizers=("orphan",)), (), {"a": GONE}, Delete("Orphan")),
        (tracked("x", deleting=True), (CHILD,), {}, None),
        (tracked("x", deleting=True, finalizers=("orphan",)), (CHILD,), {}, ReleaseDependents()),
        (tracked("x", deleting=True, finalizers=("foregroundDeletion",)), (CHILD,), {}, WakeDependents()),
        (tracked("x", deleting=True, finalizers=("foregroundDeletion",)), (STRAY_CHILD,), {}, DropForeground()),
        (tracked("x", deleting=True, finalizers=("foregroundDeletion",)), (), {}, DropForeground()),
    ],
    ids=[
        "nobody's",
        "owner there",
        "owner gone",
        "one of two gone",
        "both gone",
        "owner waits",
        "owner waits, has children",
        "one waits, one there",
        "with the orphan finalizer",
        "being deleted",
        "orphans its children",
        "waits for its children",
        "does not wait for others",
        "waited long enough",
    ],
)
def test_what_to_do(
    one: Tracked, dependents: tuple[Tracked, ...], standing: dict[str, OwnerState], action: Action
) -> None:
    assert decide(one, dependents, lambda: standing) == action


def test_the_graph_follows_owners_that_come_and_go() -> None:
    graph = Graph()
    assert graph.put(tracked("child", A)) == {"a"}
    assert [one.metadata.uid for one in graph.dependents("a")] == ["child"]
    assert graph.put(tracked("child", B)) == {"a", "b"}
    assert graph.dependents("a") == ()
    assert graph.remove("child") == {"b"}
    assert graph.dependents("b") == ()
    assert graph.get("child") is None
