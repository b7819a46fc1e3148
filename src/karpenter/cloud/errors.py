"""How clouds fail, in words that hold for all of them. SDK errors are chained with `from`."""

from __future__ import annotations

from collections.abc import Sequence

from karpenter.model.errors import KarpenterError


class CloudError(KarpenterError):
    """A cloud call failed; retried with back-off unless a subclass says otherwise."""


class InsufficientCapacityError(CloudError):
    """The cloud has none of the machines asked for: delete the claim and plan again without those offerings."""

    def __init__(self, message: str, *, offerings: Sequence[tuple[str, str, str]] = ()) -> None:
        self.offerings = tuple(offerings)
        """(instance type, zone, capacity type) that were refused."""
        super().__init__(message)


class NodeClassNotReadyError(CloudError):
    """The node class is missing or cannot be used yet; `reason` is that of the pool's condition (spec v1 §1.4.2)."""

    def __init__(self, message: str, *, reason: str = "NodeClassNotReady") -> None:
        self.reason = reason
        super().__init__(message)


class LaunchError(CloudError):
    """A launch failed for a reason to show on the claim: condition reason and message."""

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        super().__init__(message)


class InstanceNotFoundError(CloudError):
    """The machine is gone: a deletion is complete."""


class ThrottledError(CloudError):
    """Too many calls; try again after `retry_after_s`."""

    def __init__(self, message: str, *, retry_after_s: float) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(message)


class UnauthorizedError(CloudError):
    """The cloud refused our credentials or a permission is missing; the message names it."""
