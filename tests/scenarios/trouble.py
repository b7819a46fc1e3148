"""A client of the API whose calls go wrong when they are told to: what our controllers are given in some scenarios."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, TypeVar

from karpenter.runtime.clock import Clock
from karpenter.runtime.kube import KubeError, Listing, PatchType, Propagation, Resource, WatchEvent
from karpenter.runtime.kubememory import MemoryKubeClient

T = TypeVar("T")


class Trouble:
    """What happens to a call. This one lets everything be; scenarios make their own."""

    def before(self, verb: str, resource: str) -> KubeError | None:
        """Return the error that a call ends with before it has any effect."""
        return None

    def after(self, verb: str, resource: str) -> KubeError | None:
        """Return the error that a call ends with although it had its effect."""
        return None

    def delay_s(self, resource: str) -> float:
        """Return how late a watch event is."""
        return 0.0

    def cuts(self, resource: str) -> bool:
        """Return whether a watch ends before this event."""
        return False


class Reaper:
    """Ends a process at a chosen moment: as the n-th write from now on begins or has had its effect."""

    def __init__(self) -> None:
        self.has_come = asyncio.Event()
        self._left = 0

    def come_after(self, moments: int) -> None:
        """Come at this moment, counted from 1: each write has two."""
        self.has_come.clear()
        self._left = moments

    def takes(self) -> bool:
        """Return whether this is the moment, or it has passed and the process is not buried yet."""
        if self._left > 0:
            self._left -= 1
            if self._left == 0:
                self.has_come.set()
        return self.has_come.is_set()

    def leave(self) -> None:
        """Let the next process live."""
        self.has_come.clear()
        self._left = 0


class TroubledClient:
    """Passes calls on, with trouble on the way there and on the way back."""

    def __init__(self, kube: MemoryKubeClient, clock: Clock, trouble: Trouble) -> None:
        self._kube = kube
        self._clock = clock
        self._trouble = trouble
        self.reaper = Reaper()

    async def _do(self, verb: str, resource: str, call: Callable[[], Any]) -> Any:
        is_write = verb not in {"get", "list"}
        await self._point(is_write)
        error = self._trouble.before(verb, resource)
        if error is not None:
            raise error
        answer = await call()
        error = self._trouble.after(verb, resource)
        if error is not None:
            raise error
        await self._point(is_write)
        return answer

    async def _point(self, counts: bool) -> None:
        """A moment at which the process may die: then nothing more comes of this call."""
        if counts and self.reaper.takes():
            await asyncio.get_running_loop().create_future()

    async def get(self, resource: Resource[T], name: str, *, namespace: str = "") -> T:
        return await self._do("get", resource.plural, lambda: self._kube.get(resource, name, namespace=namespace))

    async def list(
        self, resource: Resource[T], *, namespace: str = "", label_selector: str = "", field_selector: str = ""
    ) -> Listing[T]:
        scope = {"namespace": namespace, "label_selector": label_selector, "field_selector": field_selector}
        return await self._do("list", resource.plural, lambda: self._kube.list(resource, **scope))

    async def watch(self, resource: Resource[T], **scope: str) -> AsyncIterator[WatchEvent[T]]:
        async for event in self._kube.watch(resource, **scope):
            if self._trouble.cuts(resource.plural):
                return
            late_s = self._trouble.delay_s(resource.plural)
            if late_s:
                await self._clock.sleep(late_s)
            yield event

    async def create(self, resource: Resource[T], body: Mapping[str, Any], *, namespace: str = "") -> T:
        return await self._do("create", resource.plural, lambda: self._kube.create(resource, body, namespace=namespace))

    async def patch(
        self,
        resource: Resource[T],
        name: str,
        patch: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        namespace: str = "",
        patch_type: PatchType = "merge",
        subresource: str = "",
    ) -> T:
        options = {"namespace": namespace, "patch_type": patch_type, "subresource": subresource}
        return await self._do("patch", resource.plural, lambda: self._kube.patch(resource, name, patch, **options))

    async def delete(
        self,
        resource: Resource[T],
        name: str,
        *,
        namespace: str = "",
        uid: str = "",
        grace_period_s: int | None = None,
        propagation: Propagation = "Background",
    ) -> None:
        options = {"namespace": namespace, "uid": uid, "grace_period_s": grace_period_s, "propagation": propagation}
        await self._do("delete", resource.plural, lambda: self._kube.delete(resource, name, **options))

    async def evict(self, name: str, *, namespace: str, uid: str = "", grace_period_s: int | None = None) -> None:
        options = {"namespace": namespace, "uid": uid, "grace_period_s": grace_period_s}
        await self._do("evict", "pods", lambda: self._kube.evict(name, **options))

    async def bind(self, name: str, *, namespace: str, node: str, uid: str = "") -> None:
        await self._do("bind", "pods", lambda: self._kube.bind(name, namespace=namespace, node=node, uid=uid))

    async def close(self) -> None:
        await self._kube.close()
