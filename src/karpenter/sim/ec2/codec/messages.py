"""What passes between HTTP and the operations: requests, calls, answers, errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from karpenter.model.errors import KarpenterError

Value: TypeAlias = Any
"""A value of some shape: dict, list, text, number, bytes."""


@dataclass(frozen=True, slots=True)
class WireRequest:
    """One HTTP request."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    """Looked up without regard to case."""
    body: bytes


@dataclass(frozen=True, slots=True)
class WireAnswer:
    """One HTTP answer."""

    body: bytes
    content_type: str
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls, as the request's signature says."""

    access_key: str
    region: str


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an operation."""

    service: str
    operation: str
    params: Mapping[str, Value]
    caller: Caller | None
    """None for an unsigned request, which few operations allow."""


class AwsError(KarpenterError):
    """An answer that is an error; `code` and message are what the SDK shows."""

    def __init__(self, code: str, message: str, *, status: int = 400, query_code: str = "") -> None:
        """`query_code` is the code of a service's older protocol, which the SDK prefers where there is one (SQS)."""
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
        self.query_code = query_code
