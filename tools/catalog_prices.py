"""The price table for `build_catalog.py`: how a price is computed, and how the table is fitted to observed prices."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MIB_PER_GIB = 1024
DIGITS = 5


@dataclass(frozen=True, slots=True)
class Observed:
    """An instance type with its real price."""

    name: str
    vcpus: int
    memory_gib: float
    price: float


def on_demand_price(prices: Mapping[str, Any], name: str, record: Mapping[str, Any]) -> float | None:
    """Return USD an hour; None when neither the type nor its family is in the table."""
    if name in prices["types"]:
        return float(prices["types"][name])
    family = prices["families"].get(name.partition(".")[0])
    return None if family is None else family_price(family, vcpus=record["cpu"], memory_gib=record["mem"] / MIB_PER_GIB)


def family_price(family: Mapping[str, Any], *, vcpus: int, memory_gib: float) -> float:
    """Return rate × size, rounded as AWS's list does."""
    linear = family["perVcpu"] * vcpus if "perVcpu" in family else family["perGib"] * memory_gib
    return float(round(linear, family.get("digits", DIGITS)))


def fit_prices(instance_types: Sequence[Mapping[str, Any]], old: Mapping[str, Any]) -> dict[str, Any]:
    """Return `old` with the observed families fitted anew: the rate that fits most types, the others by name."""
    families = dict(old["families"])
    by_family: dict[str, list[Observed]] = defaultdict(list)
    for observed in map(observe, instance_types):
        by_family[observed.name.partition(".")[0]].append(observed)
    types = {name: price for name, price in old["types"].items() if name.partition(".")[0] not in by_family}
    for name, members in by_family.items():
        families[name] = min(candidates(members), key=lambda family: score(family, members))
        types |= {m.name: m.price for m in members if not is_exact(families[name], m)}
    return {**old, "families": dict(sorted(families.items())), "types": dict(sorted(types.items()))}


def observe(instance_type: Mapping[str, Any]) -> Observed:
    """Return name, size and price of one entry of a catalogue; on-demand offerings of a type must agree."""
    labels = {entry["key"]: entry.get("values", []) for entry in instance_type["requirements"]}
    (price,) = {offering["price"] for offering in instance_type["offerings"]}
    (vcpus,) = labels["karpenter.k8s.aws/instance-cpu"]
    (memory_mib,) = labels["karpenter.k8s.aws/instance-memory"]
    return Observed(instance_type["name"], int(vcpus), int(memory_mib) / MIB_PER_GIB, price)


def candidates(members: Sequence[Observed]) -> Iterator[dict[str, Any]]:
    """Yield rates that hit at least one member, from short to precise, per vCPU and per GiB."""
    for member in members:
        for unit, size in (("perVcpu", member.vcpus), ("perGib", member.memory_gib)):
            for significant in range(2, 9):
                for digits in (DIGITS, 4, 3):
                    rounding = {} if digits == DIGITS else {"digits": digits}
                    yield {unit: float(f"{member.price / size:.{significant}g}"), **rounding}


def score(family: Mapping[str, Any], members: Sequence[Observed]) -> tuple[object, ...]:
    """Order rates: fewest types that need a price of their own, per vCPU, no special rounding, shortest."""
    rate = family.get("perVcpu", family.get("perGib"))
    misses = sum(not is_exact(family, member) for member in members)
    return (misses, "perGib" in family, "digits" in family, len(str(rate)), rate)


def is_exact(family: Mapping[str, Any], observed: Observed) -> bool:
    """Tell whether the family's rate gives the listed price."""
    return family_price(family, vcpus=observed.vcpus, memory_gib=observed.memory_gib) == observed.price


def fit_branch_interfaces(instance_types: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return branch-interface limits by size, families with equal limits together; types without any are left out."""
    by_family: dict[str, dict[str, int]] = defaultdict(dict)
    for instance_type in instance_types:
        family, _, size = instance_type["name"].partition(".")
        by_family[family][size] = int(instance_type["capacity"].get("vpc.amazonaws.com/pod-eni", 0))
    profiles: list[tuple[dict[str, int], list[str]]] = []
    for family, sizes in sorted(by_family.items(), key=lambda item: (-len(item[1]), item[0])):
        for known, families in profiles:
            if known.keys() & sizes.keys() and all(known.get(size, limit) == limit for size, limit in sizes.items()):
                known.update(sizes)
                families.append(family)
                break
        else:
            profiles.append((dict(sizes), [family]))
    return [
        {"families": sorted(families), "sizes": {size: limit for size, limit in sorted(sizes.items()) if limit}}
        for sizes, families in profiles
        if any(sizes.values())
    ]
