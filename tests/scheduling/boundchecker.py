"""An independent check of lower bounds: exact arithmetic, from the problem's data and the certificate's duals alone.

What is claimed: every plan that places all copies within the limits costs at least the bound. What is checked, with
fractions only: all duals are ≥ 0; on no offer can the copies of one machine be worth more than its price and what it
takes of limits; worth·count, less limits and what machines that are there may hold, is not below the bound.

How much the copies of one machine can be worth follows by weak duality. For whole copies a ≥ 0 that fit a machine,

    worth·a  =  Σ_s a_s (worth_s − cost_s) + Σ_s a_s cost_s
             ≤  Σ_s most_s · max(0, worth_s − cost_s)  +  Σ (multiplier · what the machine has)

where cost_s adds up the multipliers of everything that a copy takes: resources, groups of which a machine may hold so
many copies, and rounded rows: floor(times·weights·request / size) is a whole number, so the copies' sum of it is at
most floor(times·weights·room / size). Nothing of the solver is used here, only numbers are read from its objects.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Any

Row = list[Fraction]


def exact(values: Iterable[Any]) -> Row:
    """Return floats as the fractions that they are."""
    return [Fraction(float(value)) for value in values]


def dot(one: Sequence[Fraction], other: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(one, other, strict=True) if a and b), Fraction(0))


def groups_of(problem: Any) -> list[tuple[set[int], int]]:
    """Return the sets of shapes of which a machine holds so many copies at most.

    These are cliques; and owners that their own rule counts: whoever holds one holds no more than `cap` of all counted.
    """
    groups = [
        ({s for s, of in enumerate(problem.clique) if of == at}, int(cap)) for at, cap in enumerate(problem.most[:-1])
    ]
    for group in problem.groups:
        both = {s for s, (own, counted) in enumerate(zip(group.owners, group.matched, strict=True)) if own and counted}
        if both and group.cap:
            groups.append((both, group.cap))
    return groups


@dataclass(frozen=True)
class Shape:
    """Copies that nothing tells apart."""

    request: tuple[Fraction, ...]
    worth: Fraction
    groups: frozenset[int]
    """Positions of the groups it belongs to."""
    offers: tuple[bool, ...]
    nodes: tuple[bool, ...]
    """Which offers, and which machines that are there already, may hold it."""


def shapes_of(problem: Any, worth: Row, groups: list[tuple[set[int], int]], admits: Any) -> Counter[Shape]:
    """Return the shapes, equal ones together, and how many copies there are of each."""
    shapes: Counter[Shape] = Counter()
    for s, number in enumerate(problem.count):
        member = frozenset(at for at, (members, _) in enumerate(groups) if s in members)
        offers, nodes = (tuple(bool(row[s]) for row in rows) for rows in (problem.admits, admits))
        shapes[Shape(tuple(exact(problem.request[s])), worth[s], member, offers, nodes)] += int(number)
    return shapes


class Proof:
    """One set of multipliers, applied to all shapes once."""

    def __init__(self, multipliers: Any, shapes: Counter[Shape], caps: list[int]) -> None:
        self.resources, self.groups = exact(multipliers.resources), exact(multipliers.groups)
        self.cuts = [
            ([Fraction(weight) for weight in cut.weights], cut.times, cut.size, Fraction(value))
            for cut, value in multipliers.cuts
        ]
        values = [*self.resources, *self.groups, *(value for *_, value in self.cuts)]
        weights = [weight for own, times, size, _ in self.cuts for weight in (*own, Fraction(times), Fraction(size))]
        assert all(value >= 0 for value in (*values, *weights)), "a multiplier or weight is negative"
        self.caps = caps
        self.shapes = shapes
        self.beyond = {
            shape: beyond
            for shape in shapes
            if (beyond := shape.worth - self.of(shape.request) - sum(self.groups[at] for at in shape.groups)) > 0
        }

    def of(self, amounts: Sequence[Fraction]) -> Fraction:
        """Return what amounts cost: of a request at most what the whole copies take, of a room what it has."""
        total = dot(self.resources, amounts)
        for weights, times, size, value in self.cuts:
            total += value * floor(times * dot(weights, amounts) / size)
        return total

    def most_worth(self, room: Row, admitted: Callable[[Shape], bool]) -> Fraction:
        """Return what the copies on one machine can be worth at most."""
        total = self.of(room) + dot(self.groups, [Fraction(cap) for cap in self.caps])
        for shape, beyond in self.beyond.items():
            if admitted(shape):
                fits = [floor(max(have, 0) / need) for need, have in zip(shape.request, room, strict=True) if need]
                total += beyond * min([self.shapes[shape], *(self.caps[at] for at in shape.groups), *fits])
        return total


def check(problem: Any, bound: Any, *, room: Any = (), admits: Any = ()) -> None:
    """Fail unless the certificate proves the bound; `room` and `admits` describe machines that are there already."""
    certificate, groups = bound.certificate, groups_of(problem)
    worth, scarcity = exact(certificate.worth), exact(certificate.scarcity)
    assert len(scarcity) == len(problem.budget)
    assert all(value >= 0 for value in (*worth, *scarcity)), "a dual is negative"
    shapes = shapes_of(problem, worth, groups, admits)
    proofs = [Proof(each, shapes, [cap for _, cap in groups]) for each in certificate.multipliers]
    for at, which in enumerate(certificate.of_offers):
        price = Fraction(float(problem.price[at])) + dot(scarcity, exact(problem.charge[at]))
        held = proofs[which].most_worth(exact(problem.room[at]), lambda shape, at=at: shape.offers[at])
        assert held <= price, f"offer {at} could hold copies worth {float(held)} for {float(price)}"
    total = dot(worth, exact(problem.count)) - dot(scarcity, exact(problem.budget))
    for at, which in enumerate(certificate.of_nodes):
        total -= proofs[which].most_worth(exact(room[at]), lambda shape, at=at: shape.nodes[at])
    assert (len(certificate.of_offers), len(certificate.of_nodes)) == (len(problem.price), len(room))
    assert Fraction(bound.price) <= max(total, Fraction(0)), f"the duals prove {float(total)}, not {bound.price}"
