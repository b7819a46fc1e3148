"""From bytes to wire structs. Structs say what is there; a null where they expect nothing at all is forgiven."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, TypeVar

import msgspec

from karpenter.runtime.identity import version_of
from karpenter.runtime.kube import KubeError, Resource, WatchEvent

T = TypeVar("T")


class UndecodableError(KubeError):
    """The server's answer is not what it should be. Names the kind and the place in it."""

    reason = "Undecodable"


class Status(msgspec.Struct, frozen=True, rename="camel"):
    """How an API server says no."""

    kind: str = ""
    message: str = ""
    reason: str = ""
    code: int = 0
    details: dict[str, Any] = {}


class _ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")


class _Page(msgspec.Struct, Generic[T], frozen=True):
    metadata: _ListMeta = _ListMeta()
    items: tuple[T, ...] = ()


class _EventLine(msgspec.Struct, frozen=True):
    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]
    object: msgspec.Raw


class _Bookmark(msgspec.Struct, frozen=True):
    metadata: _ListMeta


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a list."""

    items: tuple[T, ...]
    resource_version: str
    next: str
    """What to continue with; empty on the last page."""


def decode_object(resource: Resource[T], data: bytes) -> T:
    """Return one object. Raises UndecodableError."""
    return _complete(resource, _decode(resource.type, data, resource.kind))


def decode_page(resource: Resource[T], data: bytes) -> Page[T]:
    """Return one page of a list. Raises UndecodableError."""
    page = _decode(_page_type(resource.type), data, f"list of {resource.kind}")
    items = tuple(_complete(resource, item) for item in page.items)
    return Page(items, page.metadata.resource_version, page.metadata.continue_)


def decode_event(resource: Resource[T], line: bytes) -> WatchEvent[T] | Status:
    """Return one event of a watch; a Status when the server ends it with an error. Raises UndecodableError."""
    what = f"watch event of {resource.kind}"
    event = _decode(_EventLine, line, what)
    if event.type == "ERROR":
        return _decode(Status, event.object, what)
    if event.type == "BOOKMARK":
        return WatchEvent("BOOKMARK", None, _decode(_Bookmark, event.object, what).metadata.resource_version)
    obj = _complete(resource, _decode(resource.type, event.object, resource.kind))
    return WatchEvent(event.type, obj, version_of(obj))


def decode_status(data: bytes) -> Status | None:
    """Return the Status in an answer; None when it holds something else."""
    try:
        status = msgspec.json.decode(data, type=Status)
    except msgspec.MsgspecError:
        return None
    return status if status.kind == "Status" else None


def without_nulls(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return JSON without the nulls in its objects and lists: absence, said the long way."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value if item is not None]
    return value


def _decode(kind: type[T], data: bytes | msgspec.Raw, what: str) -> T:
    try:
        return _decoder(kind).decode(data)
    except msgspec.ValidationError as error:
        # Go writes null for an empty list or map here and there. That is rare, so the fast path does not look for it.
        try:
            return msgspec.convert(without_nulls(_ANY.decode(data)), kind)
        except msgspec.ValidationError:
            raise UndecodableError(f"{what} from the API server: {error}") from error
    except msgspec.DecodeError as error:
        raise UndecodableError(f"{what} from the API server: {error}") from error


def _complete(resource: Resource[T], obj: T) -> T:
    """Give raw JSON the kind that the items of a list lack."""
    if isinstance(obj, dict):
        obj.setdefault("apiVersion", resource.api_version)
        obj.setdefault("kind", resource.kind)
    return obj


_ANY: Final = msgspec.json.Decoder()


_DECODERS: Final[dict[type, msgspec.json.Decoder[Any]]] = {}


def _decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    if kind not in _DECODERS:
        _DECODERS[kind] = msgspec.json.Decoder(kind)
    return _DECODERS[kind]


def _page_type(kind: type[T]) -> type[_Page[T]]:
    return _Page[kind]  # type: ignore[valid-type] # the type of a resource, known only at run time
