"""Judges topology spread: pods are counted as the scheduler does, and machines turn out as unluckily as they may."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from karpenter.model.core import Pod, TopologySpreadConstraint
from karpenter.model.labels import canonical
from tests.scheduling.homes import Home, NodeFilter
from tests.scheduling.town import Meaning, Resident, Town, with_labels


def hard_constraints(pod: Pod) -> list[TopologySpreadConstraint]:
    return [c for c in pod.spec.topology_spread_constraints if c.when_unsatisfiable != "ScheduleAnyway"]


def breaches(town: Town) -> Iterator[str]:
    """Yield every placed pod that states a spread which does not hold where the pod is."""
    tallies: dict[str, Tally] = {}
    for who in town.residents:
        for constraint in hard_constraints(who.pod) if who.is_new else ():
            rule = Rule.of(constraint, who.pod)
            if not all(who.home.has_surely(one) for one in rule.keys):
                lacking = ", ".join(rule.keys)
                yield f"{who.pod.metadata.key} on {who.home.name}: may lack a label of its spread ({lacking})"
                continue
            if rule.text not in tallies:
                tallies[rule.text] = Tally.of(town, rule, who.pod)
            yield from _skew(who, rule, tallies[rule.text])


@dataclass(frozen=True)
class Rule:
    """One spread as a pod states it: equal texts count equal pods on equal nodes."""

    constraint: TopologySpreadConstraint
    meaning: Meaning
    where: NodeFilter
    keys: tuple[str, ...]
    """The labels that a node must have to count: those of all spreads of the pod."""
    text: str

    @classmethod
    def of(cls, constraint: TopologySpreadConstraint, pod: Pod) -> "Rule":
        selector = with_labels(constraint.label_selector, pod, constraint.match_label_keys, operator="In")
        meaning = Meaning(None, frozenset((pod.metadata.namespace,)), selector)
        where = NodeFilter.of(pod)
        keys = tuple(sorted({canonical(c.topology_key) for c in hard_constraints(pod)}))
        text = repr((constraint, meaning, where.text, pod.spec.tolerations, keys))
        return cls(constraint, meaning, where, keys, text)

    @property
    def key(self) -> str:
        return canonical(self.constraint.topology_key)

    def takes_part(self, home: Home, pod: Pod) -> tuple[bool, bool]:
        """Return whether a home may count for the spread, and whether it surely does."""
        if not all(home.values(key) for key in self.keys):
            return False, False
        if self.constraint.node_taints_policy == "Honor" and any(
            taint.effect != "PreferNoSchedule"
            and not any(toleration.tolerates(taint) for toleration in pod.spec.tolerations)
            for taint in home.taints
        ):
            return False, False
        certain = all(home.has_surely(key) for key in self.keys)
        if self.constraint.node_affinity_policy == "Ignore":
            return True, certain
        maybe, surely = home.shapes.matches(self.where)
        return maybe, surely and certain

    def domains(self, home: Home) -> frozenset[str]:
        """Return the domains in which a home may be while it takes part."""
        return home.values(self.key, None if self.constraint.node_affinity_policy == "Ignore" else self.where)


@dataclass
class Tally:
    """The pods that one spread counts, by domain: as many as may be there, and as few."""

    parts: dict[int, tuple[frozenset[str], int, bool]] = field(default_factory=dict)
    """For each home that may count: its domains, its pods, and whether it surely counts in its only domain."""
    homes: Counter[str] = field(default_factory=Counter)
    """Homes that may be in a domain."""
    sure_homes: Counter[str] = field(default_factory=Counter)
    most: Counter[str] = field(default_factory=Counter)
    least: Counter[str] = field(default_factory=Counter)
    ranked: Sequence[str] = ()
    """The domains, the emptiest first."""

    @classmethod
    def of(cls, town: Town, rule: Rule, pod: Pod) -> "Tally":
        meant = Counter(id(other.home) for other in town.meant(rule.meaning))
        tally = cls()
        for home in town.homes:
            maybe, surely = rule.takes_part(home, pod)
            if maybe:
                tally._add(home, rule.domains(home), meant[id(home)], surely=surely)
        tally.ranked = sorted(tally.homes, key=lambda domain: (tally.least[domain], domain))
        return tally

    def _add(self, home: Home, domains: frozenset[str], pods: int, *, surely: bool) -> None:
        certain = surely and len(domains) == 1
        self.parts[id(home)] = domains, pods, certain
        for domain in domains:
            self.homes[domain] += 1
            self.most[domain] += pods
            if certain:
                self.sure_homes[domain] += 1
                self.least[domain] += pods

    def if_in(self, home: Home, domain: str) -> tuple[int, int]:
        """Return the most pods in a domain and the least in any, should a home turn out to be in that domain."""
        own, pods, certain = self.parts.get(id(home), (frozenset(), 0, False))
        most = self.most[domain] + (0 if domain in own else pods)
        # The pods that make a domain full by bad luck are in it in that case, and not where else they could be.
        others = [self.least[name] - pods * certain for name in own - {domain} if self.homes[name] > 1]
        others += [self.least[name] for name in self._first(own | {domain})]
        return most, min([most, *others])

    def _first(self, apart_from: frozenset[str]) -> Iterator[str]:
        """Yield the emptiest domain apart from some."""
        yield from [name for name in self.ranked[: len(apart_from) + 1] if name not in apart_from][:1]


def _skew(who: Resident, rule: Rule, tally: Tally) -> Iterator[str]:
    for domain in sorted(who.home.values(rule.key)):
        most, least = tally.if_in(who.home, domain)
        certain = len(tally.sure_homes) + (domain not in tally.sure_homes)
        floor = 0 if certain < (rule.constraint.min_domains or 0) else least
        if most - floor > rule.constraint.max_skew:
            yield (
                f"{who.pod.metadata.key} on {who.home.name}: spread over {rule.key}: {most} in {domain}, "
                f"{floor} at least, skew {rule.constraint.max_skew}"
            )
