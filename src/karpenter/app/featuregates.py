"""Karpenter's `FEATURE_GATES`: which of our settings they turn on and off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from karpenter.app.errors import SettingsError

VARIABLE: Final = "FEATURE_GATES"
SETTING_OF: Final[Mapping[str, str]] = {
    "NodeRepair": "repair.enabled",
    "ReservedCapacity": "policy.reservations",
    "SpotToSpotConsolidation": "policy.spotToSpot",
}
"""The setting of ours that a gate is."""
ABSENT: Final = frozenset({"NodeOverlay", "StaticCapacity", "CapacityBuffer"})
"""Gates of things that we do not have."""


@dataclass(frozen=True, slots=True)
class Gates:
    """What the variable says."""

    assignments: Mapping[str, str]
    """Texts by key of the setting."""
    absent: tuple[str, ...]
    """What is asked for and not there."""


def read_gates(text: str) -> Gates:
    """Return what `A=true,B=false` means here; names that nobody knows are ignored, as Karpenter does.

    Raises:
        SettingsError: an entry is not NAME=true or NAME=false.
    """
    assignments: dict[str, str] = {}
    absent: list[str] = []
    for entry in filter(None, (each.strip() for each in text.split(","))):
        name, _, value = (part.strip() for part in entry.partition("="))
        if value.lower() not in {"true", "false"}:
            raise SettingsError(f"{VARIABLE}: {entry!r} is not NAME=true or NAME=false")
        if name in SETTING_OF:
            assignments[SETTING_OF[name]] = value.lower()
        elif name in ABSENT and value.lower() == "true":
            absent.append(name)
    return Gates(assignments, tuple(absent))
