"""How answers and broken connections become `KubeError`s."""

from __future__ import annotations

from typing import Final

from karpenter.runtime.kube import (
    AlreadyExists,
    BadRequest,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    KubeError,
    MethodNotAllowed,
    NotFound,
    TooManyRequests,
    Unauthorized,
    Unavailable,
    UnsupportedMediaType,
)
from karpenter.runtime.kubehttp.decoding import Status, decode_status


class NotSent(Unavailable):
    """The request never reached the server, so trying it again is always safe."""


_BY_REASON: Final[dict[str, type[KubeError]]] = {
    **{
        error.reason: error
        for error in (
            AlreadyExists, BadRequest, Conflict, Forbidden, Gone, Invalid, MethodNotAllowed, NotFound, TooManyRequests,
            Unauthorized, Unavailable, UnsupportedMediaType,
        )
    },
    "Gone": Gone,
    "ServerTimeout": Unavailable,
    "Timeout": Unavailable,
}  # fmt: skip

_BY_CODE: Final[dict[int, type[KubeError]]] = {
    400: BadRequest, 401: Unauthorized, 403: Forbidden, 404: NotFound, 405: MethodNotAllowed, 409: Conflict, 410: Gone,
    415: UnsupportedMediaType, 422: Invalid, 429: TooManyRequests, 502: Unavailable, 503: Unavailable, 504: Unavailable,
}  # fmt: skip

_LONGEST_TEXT: Final = 300


def error_from_answer(code: int, body: bytes, *, retry_after: str = "") -> KubeError:
    """Return the error that an answer stands for; `retry_after` is its header."""
    status = decode_status(body)
    if status is None:  # such as an HTML page of a proxy on the way
        text = " ".join(body.decode(errors="replace").split())[:_LONGEST_TEXT]
        status = Status(message=f"HTTP {code}: {text}" if text else f"HTTP {code}", code=code)
    return error_from_status(status, code, retry_after=retry_after)


def error_from_status(status: Status, code: int = 0, *, retry_after: str = "") -> KubeError:
    """Return the error that a Status stands for, by its reason, else by its code."""
    code = status.code or code
    kind = _BY_REASON.get(status.reason) or _BY_CODE.get(code, KubeError)
    return kind(
        status.message or f"HTTP {code}",
        details=status.details,
        retry_after_s=_seconds(retry_after) or _seconds(status.details.get("retryAfterSeconds")),
    )


def _seconds(value: object) -> float | None:
    """Return a wait; None when there is none. API servers always write it as a whole number of seconds."""
    text = str(value)
    return float(text) if text.isdecimal() and int(text) > 0 else None
