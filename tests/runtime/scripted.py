"""An API server that answers from a script, for what a well-behaved one does only when it is in trouble."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

from karpenter.model import core
from karpenter.model.meta import ObjectMeta
from karpenter.runtime.kube import KubeError, Listing, WatchEvent

Step = WatchEvent[Any] | KubeError | float


def a_node(name: str, version: int, *, uid: str = "", **labels: str) -> core.Node:
    return core.Node(
        metadata=ObjectMeta(name=name, uid=uid or f"uid-{name}", resource_version=str(version), labels=labels)
    )


def added(node: core.Node) -> WatchEvent[core.Node]:
    return WatchEvent("ADDED", node, node.metadata.resource_version)


def modified(node: core.Node) -> WatchEvent[core.Node]:
    return WatchEvent("MODIFIED", node, node.metadata.resource_version)


def deleted(node: core.Node) -> WatchEvent[core.Node]:
    return WatchEvent("DELETED", node, node.metadata.resource_version)


def bookmark(version: int) -> WatchEvent[core.Node]:
    return WatchEvent("BOOKMARK", None, str(version))


class ScriptedServer:
    """Answers the n-th list with the n-th of `lists`, the n-th watch with the n-th of `watches`.

    A watch's steps are events to send, seconds to wait, or an error to end with; after its last step it is cut without
    a word. After the last script, lists repeat the last answer and watches stay open and silent.
    """

    def __init__(
        self,
        lists: Sequence[Listing[Any] | KubeError],
        watches: Sequence[Sequence[Step]] = (),
        *,
        list_takes_s: float = 0.0,
    ) -> None:
        self._list_takes_s = list_takes_s
        self._lists = list(lists)
        self._watches = [list(steps) for steps in watches]
        self.calls: list[tuple[str, float]] = []

    def _note(self, call: str) -> None:
        self.calls.append((call, round(asyncio.get_running_loop().time(), 3)))

    async def list(self, resource: object, **scope: str) -> Listing[Any]:
        self._note("list")
        await asyncio.sleep(self._list_takes_s)
        answer = self._lists.pop(0) if len(self._lists) > 1 else self._lists[0]
        if isinstance(answer, KubeError):
            raise answer
        return answer

    async def watch(self, resource: object, *, resource_version: str, **scope: str) -> AsyncIterator[WatchEvent[Any]]:
        self._note(f"watch {resource_version}")
        if not self._watches:
            await asyncio.Event().wait()
        for step in self._watches.pop(0):
            match step:
                case KubeError():
                    raise step
                case WatchEvent():
                    yield step
                case _:
                    await asyncio.sleep(step)
