"""Judges required pod affinity: all have the company they want, and nobody waits for ever for others who wait."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from karpenter.model.core import Pod
from karpenter.model.labels import canonical
from tests.scheduling.homes import Home
from tests.scheduling.town import Meaning, Resident, Town, meaning_of, required_terms


def breaches(town: Town) -> Iterator[str]:
    """Yield pods without the company they want, and if there are none, those that wait for each other."""
    companies = Companies(town)
    wanting = [
        (who, company) for who in town.residents if who.is_new and (company := companies.of(who.pod)) is not None
    ]
    lonely = [breach for who, company in wanting for breach in _lonely(who, company)]
    yield from lonely
    if not lonely:
        yield from _deadlocks(town, wanting)


def _lonely(who: Resident, company: "Company") -> Iterator[str]:
    """Yield how a pod lacks company; it may be alone only if there is none it could have joined."""
    with company.without(who):
        for key in company.keys:
            if not who.home.has_surely(key):
                yield f"{who.pod.metadata.key} on {who.home.name}: may lack {key}, the key of its affinity"
            elif not company.is_near(who.home, key) and (company.size or not company.takes_itself):
                yield f"{who.pod.metadata.key} on {who.home.name}: no company by {key} ({company.size} elsewhere)"


def _deadlocks(town: Town, wanting: Sequence[tuple[Resident, "Company"]]) -> Iterator[str]:
    """Yield pods that wait for each other, so that none of them could ever be the first to be bound."""
    present = {id(company): company.empty() for _, company in wanting}
    late = {id(who) for who, _ in wanting}
    arrived = [who for who in town.residents if id(who) not in late]
    waiting = list(wanting)
    while waiting:
        for company in present.values():
            for who in arrived:
                if id(who) in company.members:
                    company.join(who)
        able = {id(who) for who, company in waiting if _may_be_bound(who, present[id(company)])}
        if not able:
            yield from (
                f"{who.pod.metadata.key} on {who.home.name}: waits for company that waits itself" for who, _ in waiting
            )
            return
        arrived = [who for who, _ in waiting if id(who) in able]
        waiting = [(who, company) for who, company in waiting if id(who) not in able]


def _may_be_bound(who: Resident, present: "Company") -> bool:
    if not present.size:
        return present.takes_itself
    return all(present.is_near(who.home, key) for key in present.keys)


@dataclass
class Company:
    """The pods that all terms of an affinity mean, and where they are; those without any of its labels are nobody's."""

    keys: tuple[str, ...]
    takes_itself: bool
    """Whether the pods that state the terms are meant by all of them."""
    members: dict[int, Resident]
    _at: Counter[int] = field(default_factory=Counter)
    """Members by home."""
    _sure: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Members that are surely in a domain, by label and value."""
    size: int = 0

    def empty(self) -> "Company":
        """Return the same terms with nobody there yet."""
        return Company(self.keys, self.takes_itself, self.members)

    def join(self, who: Resident, by: int = 1) -> None:
        """Count a member that is there; a negative number takes it away."""
        self.size += by
        self._at[id(who.home)] += by
        for key in self.keys:
            values = who.home.values(key)
            if len(values) == 1 and who.home.has_surely(key):
                self._sure[key, next(iter(values))] += by

    def is_near(self, home: Home, key: str) -> bool:
        """Return whether a member is surely in the same domain, wherever the home turns out to be."""
        return self._at[id(home)] > 0 or all(self._sure[key, value] > 0 for value in home.values(key))

    @contextmanager
    def without(self, who: Resident) -> Iterator[None]:
        """Leave a pod out for a while, if it is a member: nobody is company for himself."""
        by = int(id(who) in self.members)
        self.join(who, -by)
        yield
        self.join(who, by)


@dataclass
class Companies:
    """The company of every pod with a required affinity."""

    town: Town
    _known: dict[tuple[object, ...], Company] = field(default_factory=dict)

    def of(self, pod: Pod) -> Company | None:
        """Return the company that a pod wants; None for a pod that wants none."""
        terms = [(canonical(t.topology_key), meaning_of(t, pod)) for t in required_terms(pod, "pod_affinity")]
        if not terms:
            return None
        takes_itself = all(self.town.means(meaning, pod) for _, meaning in terms)
        known = takes_itself, *((key, repr(meaning)) for key, meaning in terms)
        if known not in self._known:
            keys = tuple(dict.fromkeys(key for key, _ in terms))
            self._known[known] = company = Company(keys, takes_itself, self._members(terms, keys))
            for who in company.members.values():
                company.join(who)
        return self._known[known]

    def _members(self, terms: Sequence[tuple[str, Meaning]], keys: Sequence[str]) -> dict[int, Resident]:
        return {
            id(who): who
            for who in self.town.meant(terms[0][1])
            if all(self.town.means(meaning, who.pod) for _, meaning in terms[1:])
            and any(who.home.values(key) for key in keys)
        }
