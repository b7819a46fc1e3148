"""minValues: a claim has to leave the cloud so many different values of a label to choose from.

A machine of one type alone cannot promise that. Under the strict policy a column therefore stands for several types at
once: it has the room that its most alike peers have too, as many of them as bring the values together.
Source: spec v1 S-44 … S-47.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from karpenter.model import labels
from karpenter.model.instancetype import InstanceType
from karpenter.model.requirements import Requirement, Requirements
from karpenter.scheduling.catalog import Bools, Floats, Ints


@dataclass(frozen=True, slots=True)
class Spectrum:
    """The values of one label that N types can have, and how many different ones a claim must list."""

    key: str
    least: int
    values: tuple[frozenset[str], ...]

    def count(self, types: Ints) -> int:
        """Return how many different values these types bring together."""
        return len(frozenset[str]().union(*(self.values[at] for at in types.tolist())))


def spectra_of(requirements: Requirements, types: Sequence[InstanceType]) -> tuple[Spectrum, ...]:
    """Return what the `minValues` of a pool's requirements ask for; values of places are for `within` to say."""
    return tuple(
        Spectrum(key, requirement.min_values, tuple(_values(requirement, kind) for kind in types))
        for key, requirement in requirements.items()
        if requirement.min_values is not None
    )


def _values(requirement: Requirement, kind: InstanceType) -> frozenset[str]:
    possible = requirement.intersect(kind.requirements.allowed(requirement.key))
    return frozenset() if possible.complement else possible.values


def within(
    spectra: Sequence[Spectrum], places: Bools, *, zones: Sequence[str], capacity_types: Sequence[str]
) -> tuple[Spectrum, ...]:
    """Return the same for types that can be had in these places only (N×Z×K)."""
    found: list[Spectrum] = []
    for spectrum in spectra:
        if spectrum.key == labels.ZONE:
            found.append(replace(spectrum, values=_named(np.any(places, axis=2), zones)))
        elif spectrum.key == labels.CAPACITY_TYPE:
            found.append(replace(spectrum, values=_named(np.any(places, axis=1), capacity_types)))
        else:
            found.append(spectrum)
    return tuple(found)


def _named(there: Bools, names: Sequence[str]) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(names[at] for at in np.flatnonzero(row).tolist()) for row in there)


def suffices(spectra: Sequence[Spectrum], types: Ints) -> bool:
    """Return whether these types bring all the values asked for."""
    return all(spectrum.count(types) >= spectrum.least for spectrum in spectra)


def flexible(spectra: Sequence[Spectrum], room: Floats, *, size: Floats, places: Bools) -> Bools:
    """Return the types (N) whose room (N×R) enough types have by their `size` (N×R), wherever they are (N×Z×K)."""
    there: Bools = np.any(places, axis=(1, 2))
    found = there.copy()
    for at in np.flatnonzero(there).tolist():
        holding = np.all(size >= room[at], axis=1) & there & ~np.any(places[at] & ~places, axis=(1, 2))
        found[at] = suffices(spectra, np.flatnonzero(holding))
    return found


def peers_of(spectra: Sequence[Spectrum], size: Floats, places: Bools) -> list[Ints]:
    """Return for each type those that it has to be exchangeable with, itself included: none when they are too few.

    They are wherever it is (N×Z×K), and take least of its room away (`size`, N×R).
    """
    found: list[Ints] = []
    for at in range(len(size)):
        there = np.flatnonzero(~np.any(places[at] & ~places, axis=(1, 2)))
        loss = (np.maximum(size[at] - size[there], 0) / np.maximum(size[at], 1.0)).max(axis=1)
        loss[there == at] = -1.0
        found.append(_first_enough(spectra, there[np.argsort(loss, kind="stable")]))
    return found


def shortened(spectra: Sequence[Spectrum], types: Ints, most: int) -> Ints:
    """Return at most so many of the types, the first ones, but with as many values as all of them bring together."""
    if len(types) <= most or suffices(spectra, types[:most]):
        return types[:most]
    needed = _first_enough(spectra, types)
    others = types[~np.isin(types, needed)][: max(0, most - len(needed))]
    return types[np.isin(types, np.concatenate((needed, others)))]


def lowered(requirements: Requirements, spectra: Sequence[Spectrum], types: Ints) -> Requirements:
    """Return requirements whose minValues ask for no more than these types bring (S-45)."""
    counts = {spectrum.key: spectrum.count(types) for spectrum in spectra if spectrum.count(types) < spectrum.least}
    if not counts:
        return requirements
    return Requirements(
        replace(requirement, min_values=max(1, counts[key])) if key in counts else requirement
        for key, requirement in requirements.items()
    )


def _first_enough(spectra: Sequence[Spectrum], candidates: Ints) -> Ints:
    """Return the first candidates that bring all the values together; those that bring nothing new are passed over."""
    covered: list[set[str]] = [set() for _ in spectra]
    chosen: list[int] = []
    for at in candidates.tolist():
        helps = not chosen
        for spectrum, values in zip(spectra, covered, strict=True):
            if len(values) < spectrum.least and not spectrum.values[at] <= values:
                values.update(spectrum.values[at])
                helps = True
        if helps:
            chosen.append(at)
        if all(len(values) >= spectrum.least for spectrum, values in zip(spectra, covered, strict=True)):
            return np.array(chosen, dtype=np.int64)
    return np.zeros(0, dtype=np.int64)
