"""What ends a command with status 2: the user has to change something."""

from __future__ import annotations

from karpenter.model.errors import KarpenterError


class BadInputError(KarpenterError):
    """A flag, a setting or a manifest cannot be used; the message is one line a mistake."""


class SettingsError(BadInputError):
    """A flag or variable cannot be used; the message is one sentence that says which, why and what to write."""
