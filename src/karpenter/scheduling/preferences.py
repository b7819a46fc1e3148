"""Whether preferences are heeded: a setting for the whole cluster, and an annotation of single pools.

What they cost is in `pricing`.
Source: spec v1 S-25, S-27 (upstream knows the setting only); cases PREFER.
"""

from __future__ import annotations

from collections.abc import Iterable

from karpenter.model import labels
from karpenter.scheduling.policy import PreferencePolicy
from karpenter.scheduling.rules import NodeRule
from karpenter.scheduling.snapshot import PoolView


def policy_of(view: PoolView, default: PreferencePolicy) -> PreferencePolicy:
    """Return what a pool does with preferences: as its annotation says, or as everywhere."""
    match view.pool.metadata.annotations.get(labels.PREFERENCE_POLICY):
        case "Respect":
            return "Respect"
        case "Ignore":
            return "Ignore"
        case _:
            return default


def policy_for(
    rule: NodeRule, pools: Iterable[PoolView], default: PreferencePolicy, *, well_known: frozenset[str]
) -> PreferencePolicy:
    """Return what becomes of the preferences of pods whose other demands are this rule.

    They are heeded as soon as one pool that could serve the pods heeds them: the pods might end up there. When all of
    these ignore them, so does the plan, on existing nodes too.
    """
    views = list(pools)
    if all(policy_of(view, default) == default for view in views):
        return default
    serving = {policy_of(view, default) for view in views if _serves(view, rule, well_known)}
    return default if not serving else "Respect" if "Respect" in serving else "Ignore"


def _serves(view: PoolView, rule: NodeRule, well_known: frozenset[str]) -> bool:
    if view.unready is not None or view.pool.replicas is not None or not rule.tolerates(view.pool.template.taints):
        return False
    own = view.pool.node_requirements()
    return any(own.compatible(term, well_known=well_known) for term in rule.terms)
