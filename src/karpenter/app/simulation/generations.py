"""Whether a plan is cheap because its machines are old, or of a flex type whose speed is not always there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final, TypeAlias

from karpenter.model import labels
from karpenter.model.instancetype import InstanceType
from karpenter.scheduling.demand import Demand
from karpenter.scheduling.policy import Options
from karpenter.scheduling.snapshot import PoolView, Snapshot
from karpenter.scheduling.solution import Solution
from karpenter.scheduling.solver import solve_without_bound

_FLEX: Final = "-flex"
_WORTH_A_WARNING: Final = 0.005
"""Share of the price that the newest machines have to cost more."""
_SHOWN_TYPES: Final = 3

Line: TypeAlias = tuple[str | None, str | None]
"""Category and architecture: machines of one line follow each other by generation."""


def about_generations(snapshot: Snapshot, demand: Demand, options: Options, *, solution: Solution) -> list[str]:
    """Return a warning if older generations or flex types make the plan cheaper, with the price within the newest.

    For that price everything is planned again, with no other types.
    """
    newest = {view.pool.key: {kind.name for kind in newest_of(view.instance_types)} for view in snapshot.pools}
    old = Counter(plan.instance_type for plan in solution.new_claims if plan.instance_type not in newest[plan.pool])
    if not old:
        return []
    within = solve_without_bound(_with_types(snapshot, newest_of), demand, options)
    shown = ", ".join(name for name, _ in sorted(old.items(), key=lambda each: (-each[1], each[0]))[:_SHOWN_TYPES])
    more = f" and {len(old) - _SHOWN_TYPES} more types" if len(old) > _SHOWN_TYPES else ""
    said = (
        f"{old.total()} of {len(solution.new_claims)} new nodes are of older generations or flex types ({shown}{more})"
    )
    left = len(within.unschedulable) - len(solution.unschedulable)
    if left > 0:
        return [f"{said}; the newest alone would leave {left} pods without a place"]
    if within.price <= solution.price * (1 + _WORTH_A_WARNING):
        return []
    dearer = f"{within.price / solution.price - 1:.1%}".replace("%", " %")
    return [f"{said}; within the newest the plan costs ${within.price:.4f} an hour, {dearer} more"]


def newest_of(types: Iterable[InstanceType]) -> tuple[InstanceType, ...]:
    """Return the types of the newest generation of each category and architecture, flex types apart.

    Types that state no generation count as new.
    """
    known = tuple(types)
    latest: dict[Line, int] = {}
    for kind in known:
        generation = _generation(kind)
        if generation is not None and not _is_flex(kind):
            latest[_line(kind)] = max(latest.get(_line(kind), 0), generation)
    return tuple(
        kind
        for kind in known
        if not _is_flex(kind) and ((generation := _generation(kind)) is None or generation >= latest[_line(kind)])
    )


def _with_types(snapshot: Snapshot, kept: Callable[[Iterable[InstanceType]], tuple[InstanceType, ...]]) -> Snapshot:
    def narrowed(view: PoolView) -> PoolView:
        return replace(view, instance_types=kept(view.instance_types))

    return replace(snapshot, pools=tuple(map(narrowed, snapshot.pools)))


def _line(kind: InstanceType) -> Line:
    return _label(kind, labels.INSTANCE_CATEGORY), _label(kind, labels.ARCH)


def _generation(kind: InstanceType) -> int | None:
    stated = _label(kind, labels.INSTANCE_GENERATION)
    return int(stated) if stated is not None and stated.isdecimal() else None


def _is_flex(kind: InstanceType) -> bool:
    return (_label(kind, labels.INSTANCE_FAMILY) or "").endswith(_FLEX)


def _label(kind: InstanceType, key: str) -> str | None:
    """Return the one value that a type has of a label; None without one."""
    requirement = kind.requirements.get(key)
    if requirement is None or requirement.complement or len(requirement.values) != 1:
        return None
    return next(iter(requirement.values))
