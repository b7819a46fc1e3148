"""The root of our exceptions and the errors that a manifest can have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class KarpenterError(Exception):
    """Base of every exception this project raises on purpose."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing wrong with one field of one manifest."""

    path: str
    """Dotted path from the root of the object, lists by index: `spec.taints[0].effect`."""
    reason: str
    """What is wrong, lower case, no full stop; quotes the offending value."""
    fix: str = ""
    """What to write instead; empty when the reason already says it."""

    def __str__(self) -> str:
        tail = f" ({self.fix})" if self.fix else ""
        return f"{self.path}: {self.reason}{tail}"


@dataclass(frozen=True, slots=True)
class ManifestWarning:
    """Something accepted that the user should know about, such as `W-EXCLUSIVE`."""

    code: str
    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.code} {self.path}: {self.message}"


class ManifestError(KarpenterError, ValueError):
    """An object cannot be decoded. Carries every error found, not only the first.

    `subject` names the object as users write it: `Provisioner default` or `Pod web/api-0`.
    """

    def __init__(self, subject: str, errors: Sequence[FieldError]) -> None:
        self.subject = subject
        self.errors = tuple(errors)
        super().__init__(f"{subject}: " + "; ".join(str(error) for error in self.errors))
