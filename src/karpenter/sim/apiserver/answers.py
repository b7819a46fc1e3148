"""What is answered: JSON, and the Status object that says what went wrong."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from itertools import islice
from typing import Any, Final

import msgspec
from aiohttp import web

from karpenter.runtime.kube import KubeError
from karpenter.runtime.kubememory.refusals import details
from karpenter.runtime.kubememory.resources import ApiResource

_JSON: Final = "application/json"
_PROCESSING_SECONDS: Final = 1
_PARTS_AT_ONCE: Final = 100


def answer(body: object, *, status: int = 200, warnings: Iterable[str] = ()) -> web.Response:
    """Return a JSON answer; warnings are printed by kubectl."""
    return answer_bytes(msgspec.json.encode(body), status=status, warnings=warnings)


def answer_bytes(data: bytes, *, status: int = 200, warnings: Iterable[str] = ()) -> web.Response:
    """Return an answer that is JSON already."""
    response = web.Response(body=data, status=status, content_type=_JSON)
    for text in warnings:
        response.headers.add("Warning", f'299 - "{_quoted(text)}"')
    return response


def answer_parts(parts: Iterable[bytes]) -> web.Response:
    """Return an answer that comes in parts: a long one is sent while it is made, and others get their turn."""
    pieces = iter(parts)
    start = b"".join(islice(pieces, _PARTS_AT_ONCE))
    rest = b"".join(islice(pieces, _PARTS_AT_ONCE))
    if not rest:
        return answer_bytes(start)

    async def send() -> AsyncIterator[bytes]:
        yield start
        piece = rest
        while piece:
            yield piece
            piece = b"".join(islice(pieces, _PARTS_AT_ONCE))

    return web.Response(body=send(), content_type=_JSON)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


def refusal(error: KubeError) -> web.Response:
    """Return an error as clients expect it."""
    response = answer(failure(error), status=error.status)
    if error.retry_after_s is not None:
        response.headers["Retry-After"] = str(max(_PROCESSING_SECONDS, round(error.retry_after_s)))
    return response


def failure(error: KubeError) -> dict[str, Any]:
    """Return the Status of an error."""
    told = dict(error.details)
    if error.retry_after_s is not None:
        told["retryAfterSeconds"] = max(_PROCESSING_SECONDS, round(error.retry_after_s))
    status: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": error.message,
        **({"reason": error.reason} if error.reason else {}),
        "code": error.status,
    }
    return status | ({"details": told} if told else {})


def done(code: int) -> dict[str, Any]:
    """Return the Status of something done that leaves nothing to show."""
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": code}


def success(
    resource: ApiResource, name: str, *, uid: str = "", extra: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the Status of something done to one object."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details(resource, name, uid=uid) | dict(extra or {}),
    }
