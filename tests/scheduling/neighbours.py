"""Judges what pods say about other pods, strictly: in the finished state every rule of a placed pod has to hold.

Semantics are the scheduler's: a spread counts nodes that pass its policies and have all its keys; affinity wants one
pod that all terms mean; anti-affinity holds both ways. Terminating pods are gone by then.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from karpenter.model.core import Namespace
from karpenter.model.labels import canonical
from tests.scheduling import company, spreads
from tests.scheduling.homes import Home
from tests.scheduling.town import Resident, Town, meaning_of, required_terms


def breaches(homes: Sequence[Home], namespaces: Mapping[str, Namespace]) -> Iterator[str]:
    """Yield every rule about other pods that a placed pod breaks, or that a bound pod has broken for it."""
    town = Town(homes, namespaces)
    yield from spreads.breaches(town)
    yield from _repulsion(town)
    yield from company.breaches(town)


def _repulsion(town: Town) -> Iterator[str]:
    """Yield pods that share a domain with a pod from which they, by a required rule, keep away."""
    near: dict[tuple[str, str], dict[str, list[Resident]]] = {}
    for who in town.residents:
        for term in required_terms(who.pod, "pod_anti_affinity"):
            key, meaning = canonical(term.topology_key), meaning_of(term, who.pod)
            known = key, repr(meaning)
            if known not in near:
                near[known] = _by_value(town.meant(meaning), key)
            others = {
                id(other): other
                for value in who.home.values(key)
                for other in near[known].get(value, ())
                if other is not who and (who.is_new or other.is_new)
            }
            if others:
                first, more = next(iter(others.values())), len(others) - 1
                yield (
                    f"{who.pod.metadata.key} on {who.home.name} keeps away from {first.pod.metadata.key} on "
                    f"{first.home.name} by {key}" + (f" and from {more} more" if more else "")
                )


def _by_value(residents: Iterable[Resident], key: str) -> dict[str, list[Resident]]:
    found: dict[str, list[Resident]] = {}
    for who in residents:
        for value in who.home.values(key):
            found.setdefault(value, []).append(who)
    return found
