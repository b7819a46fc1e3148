"""Offerings that a cloud just refused: believed unavailable for three minutes, then tried again.

Unavailable offerings stay with the provider; planners only see `Offering.available`. Source: spec v1alpha5 AWS-48, spec
v1 A-44.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final, NamedTuple

from karpenter.model.instancetype import Offering
from karpenter.model.units import UnixSeconds
from karpenter.runtime import logs
from karpenter.runtime.clock import Clock

log = logs.get("cloudprovider")

TTL_S: Final = 180.0


class OfferingKey(NamedTuple):
    """Names one way to get a machine."""

    instance_type: str
    zone: str
    capacity_type: str

    def __str__(self) -> str:
        return f"{self.instance_type} {self.capacity_type} in {self.zone}"


class UnavailableOfferings:
    """Remembers refusals; `version` changes whenever the answer of `__contains__` may have changed."""

    def __init__(self, clock: Clock, *, ttl_s: float = TTL_S) -> None:
        self._clock = clock
        self._ttl_s = ttl_s
        self._until: dict[OfferingKey, UnixSeconds] = {}
        self._version = 0

    def mark(self, offerings: Iterable[OfferingKey]) -> None:
        """Believe these unavailable for `ttl_s` from now on."""
        until = UnixSeconds(self._clock.now() + self._ttl_s)
        marked = dict.fromkeys(offerings, until)
        for key in marked:
            log.debug(
                "removing offering from offerings",
                instance_type=key.instance_type,
                zone=key.zone,
                capacity_type=key.capacity_type,
                ttl=f"{self._ttl_s:g}s",
            )
        self._until.update(marked)
        self._version += bool(marked)

    @property
    def version(self) -> int:
        """A number that rises with every change, also when a belief runs out."""
        self._forget()
        return self._version

    def until(self, offering: OfferingKey) -> UnixSeconds | None:
        """Return when the offering is tried again; None for one that is not believed unavailable."""
        until = self._until.get(offering)
        return until if until is not None and self._clock.now() < until else None

    def offerings(self) -> frozenset[OfferingKey]:
        """Return all that are believed unavailable now."""
        self._forget()
        return frozenset(self._until)

    def described(self, allows: Callable[[str], bool]) -> str:
        """Return, to follow a message, how many offerings of types that `allows` were refused; empty when none was."""
        untils = [until for key in self.offerings() if allows(key.instance_type) and (until := self.until(key))]
        if not untils:
            return ""
        wait_s = min(untils) - self._clock.now()
        return f"; {len(untils)} were refused lately, the first is tried again in {wait_s:.0f} s"

    def marked(self, instance_type: str, offerings: Iterable[Offering]) -> tuple[Offering, ...]:
        """Return the offerings of a type, those believed unavailable marked as such, with the end of the belief."""
        untils = ((each, self.until(OfferingKey(instance_type, each.zone, each.capacity_type))) for each in offerings)
        return tuple(
            offering if until is None else replace(offering, available=False, retry_at=until)
            for offering, until in untils
        )

    def __contains__(self, offering: OfferingKey) -> bool:
        return self.until(offering) is not None

    def _forget(self) -> None:
        now = self._clock.now()
        over = [offering for offering, until in self._until.items() if until <= now]
        for offering in over:
            del self._until[offering]
        self._version += bool(over)
