"""What nodes of an instance type really offer, where that is less than was promised.

A prediction that is too high makes a loop: the machine comes up, the pod does not fit, the same machine is launched
again. So what nodes report is remembered and used from then on (case ALLOC-GUESS).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from karpenter.model.instancetype import InstanceType
from karpenter.model.nodepool import NodePool
from karpenter.model.resources import Resources, format_amount
from karpenter.state.memory import Memory

KEY: Final = "allocatable"


class _Found(msgspec.Struct, frozen=True):
    template: str
    """Digest of the template it was found with: another image or other kubelet settings may offer something else."""
    amounts: dict[str, int]


@dataclass(frozen=True, slots=True)
class _Corrected:
    source: InstanceType
    amounts: Mapping[str, int]
    result: InstanceType


class FoundAllocatable:
    """Remembers what nodes report, by pool and instance type."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._corrected: dict[tuple[str, str], _Corrected] = {}

    def take_in(self, pool: NodePool, instance_type: str, *, promised: Resources, found: Resources) -> str | None:
        """Take in what a node of a type reports; the least of all that were seen counts.

        Returns in words what is less than promised, None when nothing is or when that is known.
        """
        known = self._known()
        key, template = _key(pool, instance_type), _template(pool)
        before = known.get(key)
        amounts = before.amounts if before is not None and before.template == template else {}
        less = {
            name: min(found[name], amounts.get(name, amount))
            for name, amount in promised.items()
            if 0 < found.get(name, 0) < amount
        }
        remembered = _Found(template, {**amounts, **less})
        if not less or remembered == before:
            return None
        self._memory.put(KEY, {**known, key: remembered})
        told = (
            f"{format_amount(name, promised[name])} {name}, gave {format_amount(name, amount)}"
            for name, amount in sorted(less.items())
        )
        return f"{instance_type} promised {' and '.join(told)}"

    def corrected(self, pool: NodePool, types: tuple[InstanceType, ...]) -> tuple[InstanceType, ...]:
        """Return the types as they really are. What needs no correction is the same object as before."""
        template, prefix = _template(pool), _key(pool, "")
        found = {
            key.removeprefix(prefix): one.amounts
            for key, one in self._known().items()
            if key.startswith(prefix) and one.template == template
        }
        if not found:
            return types
        return tuple(self._correct(pool, one, found[one.name]) if one.name in found else one for one in types)

    def _correct(self, pool: NodePool, one: InstanceType, amounts: Mapping[str, int]) -> InstanceType:
        at = (str(pool.key), one.name)
        done = self._corrected.get(at)
        if done is None or done.source is not one or done.amounts != amounts:
            allocatable = {name: min(amount, amounts.get(name, amount)) for name, amount in one.allocatable.items()}
            done = self._corrected[at] = _Corrected(one, amounts, replace(one, allocatable=allocatable))
        return done.result

    def _known(self) -> dict[str, _Found]:
        return self._memory.get(KEY, dict[str, _Found], {})


def _key(pool: NodePool, instance_type: str) -> str:
    return f"{pool.key.kind}/{pool.name}/{instance_type}"


def _template(pool: NodePool) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted(pool.hash_annotations.items()))
