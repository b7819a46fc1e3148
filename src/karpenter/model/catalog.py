"""A catalogue of one's own: instance types from a file, as `--catalog` takes it.

The file is JSON, plain or gzipped (`.gz`)::

    {"name", "source", "wellKnownLabels": [keys], "instanceTypes": [{"name", "requirements": [{key, operator, values}],
      "offerings": [{"requirements": [zone and capacity type], "price", "available"}],
      "capacity": {}, "overhead": {part: {}}, "allocatable": {}}]}

Allocatable is taken as given; where a type does not say it, it is capacity less the sum of the overhead's parts.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import msgspec

from karpenter.model import labels
from karpenter.model.errors import FieldError, ManifestError
from karpenter.model.instancetype import InstanceType, Offering
from karpenter.model.requirements import Requirement, Requirements
from karpenter.model.resources import Resources, parse_resources, subtract, total


@dataclass(frozen=True, slots=True)
class Catalog:
    """Instance types and the labels that pods may constrain because of them."""

    name: str
    instance_types: tuple[InstanceType, ...]
    """In the order of the file; names are unique."""
    well_known: frozenset[str]
    """Label keys beside `labels.WELL_KNOWN` that need not be defined by a pool."""


class _Entry(msgspec.Struct, frozen=True):
    key: str
    operator: str
    values: tuple[str, ...] = ()


class _Offer(msgspec.Struct, frozen=True):
    price: float
    requirements: tuple[_Entry, ...] = ()
    available: bool = True


class _Type(msgspec.Struct, frozen=True):
    name: str
    capacity: dict[str, str | int | float]
    requirements: tuple[_Entry, ...] = ()
    offerings: tuple[_Offer, ...] = ()
    overhead: dict[str, dict[str, str | int | float]] = {}
    allocatable: dict[str, str | int | float] | None = None


class _File(msgspec.Struct, frozen=True, rename="camel"):
    instance_types: tuple[_Type, ...]
    name: str = ""
    well_known_labels: tuple[str, ...] = ()


def load_catalog(path: Path | str) -> Catalog:
    """Return the catalogue in a file; gzipped when its name ends in `.gz`.

    Raises:
        ManifestError: the file cannot be read or is no catalogue; names the file, the type and the field.
    """
    path = Path(path)
    subject = f"catalogue {path}"
    try:
        raw = path.read_bytes()
        if path.suffix == ".gz":
            raw = gzip.decompress(raw)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ManifestError(subject, [FieldError("file", f"cannot be read: {reason}")]) from error
    return decode_catalog(raw, subject=subject)


def decode_catalog(raw: bytes, *, subject: str) -> Catalog:
    """Return the catalogue in JSON text; `subject` names it in errors. Raises ManifestError with every fault found."""
    try:
        file = msgspec.json.decode(raw, type=_File)
    except msgspec.DecodeError as error:
        text, _, path = str(error).partition(" - at ")
        where = path.strip("`").removeprefix("$.") or "file"
        raise ManifestError(subject, [FieldError(where, text[0].lower() + text[1:])]) from error
    errors = list(_repeated_names(file.instance_types))
    types = [_decode(entry, f"instanceTypes[{index}]", errors) for index, entry in enumerate(file.instance_types)]
    if not types:
        errors.append(FieldError("instanceTypes", "is empty", "list at least one instance type"))
    if errors:
        raise ManifestError(subject, errors)
    return Catalog(file.name, tuple(types), frozenset(file.well_known_labels) - labels.WELL_KNOWN)


def _repeated_names(types: Sequence[_Type]) -> Iterator[FieldError]:
    seen: dict[str, int] = {}
    for index, entry in enumerate(types):
        if not entry.name:
            yield FieldError(f"instanceTypes[{index}].name", "is empty")
        elif entry.name in seen:
            yield FieldError(
                f"instanceTypes[{index}].name", f"{entry.name!r} is the name of instanceTypes[{seen[entry.name]}] too"
            )
        seen.setdefault(entry.name, index)


def _decode(entry: _Type, place: str, errors: list[FieldError]) -> InstanceType:
    at = f"{place} ({entry.name})"
    requirements = _requirements(entry.requirements, f"{at}.requirements", errors)
    stated = requirements.get(labels.INSTANCE_TYPE)
    if stated is not None and not stated.allows(entry.name):
        errors.append(
            FieldError(f"{at}.requirements", f"{stated} does not allow the type's own name", f"add {entry.name!r}")
        )
    offerings = tuple(
        _offering(offer, f"{at}.offerings[{index}]", errors) for index, offer in enumerate(entry.offerings)
    )
    capacity = _amounts(entry.capacity, f"{at}.capacity", errors)
    overhead = total(_amounts(part, f"{at}.overhead.{name}", errors) for name, part in entry.overhead.items())
    if entry.allocatable is not None:
        allocatable: Resources = _amounts(entry.allocatable, f"{at}.allocatable", errors)
    else:
        allocatable = subtract(capacity, {name: amount for name, amount in overhead.items() if name in capacity})
    own = (Requirement.of(labels.INSTANCE_TYPE, "In", (entry.name,)), *_places(offerings))
    complete = requirements.intersect(requirement for requirement in own if requirement.key not in requirements)
    return InstanceType(entry.name, complete, offerings, capacity, allocatable)


def _places(offerings: Sequence[Offering]) -> tuple[Requirement, Requirement]:
    """Return zones and capacity types for a type that does not state them: those of its available offerings."""
    available = [offering for offering in offerings if offering.available]
    return (
        Requirement.of(labels.ZONE, "In", (offering.zone for offering in available)),
        Requirement.of(labels.CAPACITY_TYPE, "In", (offering.capacity_type for offering in available)),
    )


def _requirements(entries: Sequence[_Entry], place: str, errors: list[FieldError]) -> Requirements:
    decoded = []
    for index, entry in enumerate(entries):
        try:
            decoded.append(_requirement(entry.key, entry.operator, entry.values))
        except ValueError as error:
            errors.append(FieldError(f"{place}[{index}] ({entry.key})", str(error)))
    return Requirements(decoded)


@lru_cache(maxsize=65536)
def _requirement(key: str, operator: str, values: tuple[str, ...]) -> Requirement:
    # A catalogue says the same few thousand things some forty thousand times.
    return Requirement.of(key, operator, values)


def _offering(offer: _Offer, place: str, errors: list[FieldError]) -> Offering:
    requirements = _requirements(offer.requirements, f"{place}.requirements", errors)
    found: dict[str, str] = {}
    for key in (labels.ZONE, labels.CAPACITY_TYPE):
        values = requirements.allowed(key).values if key in requirements else frozenset()
        if len(values) != 1:
            errors.append(
                FieldError(f"{place}.requirements", f"names {len(values)} values of {key}", "name exactly one with In")
            )
        found[key] = min(values, default="")
    if not 0 <= offer.price < float("inf"):
        errors.append(FieldError(f"{place}.price", f"{offer.price} is not a price", "give USD per hour, 0 or more"))
    return Offering(found[labels.ZONE], found[labels.CAPACITY_TYPE], offer.price, offer.available)


def _amounts(raw: Mapping[str, str | int | float], place: str, errors: list[FieldError]) -> dict[str, int]:
    try:
        return parse_resources(raw)
    except ValueError as error:
        errors.append(FieldError(place, str(error)))
        return {}
