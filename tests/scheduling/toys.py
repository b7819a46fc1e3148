"""The toy catalogue of small tests: types whose prices can be added up in the head.

Category and size name a type; c has 2 GiB a core, m 4, r 8, and g one GPU. Spot costs 30 % of the on-demand price.
"""

from collections.abc import Iterable
from typing import Any

from karpenter.model import labels
from karpenter.model.core import Pod
from karpenter.model.instancetype import InstanceType
from karpenter.model.nodepool import NodePool
from karpenter.scheduling import Demand, Options, Policy, Solution, solve
from tests.builders import a_pod, a_pool, a_snapshot, an_instance_type
from tests.scheduling.verifier import breaches

SIZES = {
    "c.1": (1, 2, 0.04),
    "c.2": (2, 4, 0.08),
    "c.4": (4, 8, 0.16),
    "c.8": (8, 16, 0.32),
    "c.16": (16, 32, 0.64),
    "c.32": (32, 64, 1.28),
    "m.2": (2, 8, 0.10),
    "m.4": (4, 16, 0.20),
    "m.8": (8, 32, 0.40),
    "m.16": (16, 64, 0.80),
    "r.2": (2, 16, 0.13),
    "r.4": (4, 32, 0.26),
    "r.8": (8, 64, 0.52),
    "g.8": (8, 32, 1.00),
}


def toys(*names: str, **changes: Any) -> tuple[InstanceType, ...]:
    """Return toy types (all without names): zones a, b, c, spot and on demand, 110 pods; `changes` go to each."""
    return tuple(_toy(name, **changes) for name in names or SIZES)


def _toy(name: str, **changes: Any) -> InstanceType:
    cpu, gibibytes, price = SIZES[name]
    category, _, size = name.partition(".")
    facts = {
        labels.INSTANCE_CATEGORY: category,
        labels.INSTANCE_CPU: str(cpu),
        labels.INSTANCE_MEMORY: str(gibibytes * 1024),
        labels.INSTANCE_SIZE: size,
    }
    gpu = {"nvidia.com/gpu": "1"} if category == "g" else {}
    facts |= changes.get("labels", {})
    return an_instance_type(
        name, cpu=str(cpu), memory=f"{gibibytes}Gi", price=price, resources=gpu, **{**changes, "labels": facts}
    )


def on_demand(name: str = "default", **fields: Any) -> NodePool:
    """Return a pool that launches on-demand machines only, so that prices are the table's."""
    requirements = {labels.CAPACITY_TYPE: ["on-demand"], **fields.pop("requirements", {})}
    return a_pool(name, requirements=requirements, **fields)


def pods(count: int, *, cpu: str = "1", memory: str = "1Gi", name: str = "pod", **fields: Any) -> list[Pod]:
    """Return equal pods with running names."""
    return [a_pod(f"{name}-{at}", cpu=cpu, memory=memory, **fields) for at in range(count)]


FREE = Options(Policy(node_fee=0.0, rails=False))
"""Pure price."""


def solved(
    wanted: Iterable[Pod], *, options: Options | None = None, types: Iterable[InstanceType] | None = None, **world: Any
) -> Solution:
    """Solve for pods in a small world (arguments of `a_snapshot`) and hold the answer to the verifier."""
    snapshot = a_snapshot(types=toys() if types is None else tuple(types), **{"pools": [on_demand()], **world})
    demand = Demand.each(wanted)
    solution = solve(snapshot, demand, options or Options())
    assert breaches(snapshot, demand, solution, options) == []
    return solution


def machines(solution: Solution) -> list[str]:
    """Return the planned instance types, sorted."""
    return sorted(plan.instance_type for plan in solution.new_claims)


def unplaced(solution: Solution) -> set[str]:
    """Return the names of the refused pods."""
    return {entry.pod.metadata.name for entry in solution.unschedulable}


def why(solution: Solution, name: str | None = None) -> list[tuple[str, str]]:
    """Return codes and messages of the reasons of one refused pod (of the only one, without a name)."""
    refused = [entry for entry in solution.unschedulable if name is None or entry.pod.metadata.name == name]
    (entry,) = refused
    return [(reason.code, reason.message) for reason in entry.reasons]
