"""`simulate --explain NAME`: find what is meant, and put the explanation together with what preferences cost."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

from karpenter.app.errors import BadInputError
from karpenter.app.simulation.answer import Answer
from karpenter.app.simulation.refused import pool_data, reason_data, refusal_data
from karpenter.model.core import Pod
from karpenter.model.resources import format_resources
from karpenter.scheduling.demand import Demand
from karpenter.scheduling.explain import (
    Alternative,
    Explanation,
    Offering,
    Place,
    Plan,
    explain_node,
    explain_pod,
)
from karpenter.scheduling.pricing import PreferencePrices, prices_of_preferences
from karpenter.scheduling.remedies import Refusal
from karpenter.scheduling.reporter import Progress, unheard
from karpenter.scheduling.solver import preferences_of

_DIGITS = 6
_MOST_PREFERENCES = 6
_LISTED = 5


@dataclass(frozen=True, slots=True)
class Explained:
    """An explanation with everything that is told beside it."""

    explanation: Explanation
    refusal: Refusal | None
    """What would help, for a pod that found no place."""
    preferences: PreferencePrices | None
    """What the preferences of its pods cost the whole plan; None when they state none."""


def explained(plan: Plan, answer: Answer, name: str, *, progress: Progress = unheard) -> Explained:
    """Return why the pod or node of this name is where it is. Raises BadInputError when there is none, or several."""
    pods, nodes = _meant(plan, name)
    if len(pods) + len(nodes) != 1:
        raise BadInputError(
            _not_one(plan, name, [*(f"pod/{_key(pod)}" for pod in pods), *(f"node/{node}" for node in nodes)])
        )
    if nodes:
        claim = plan.claims.get(nodes[0])
        return Explained(explain_node(plan, nodes[0]), None, _priced(plan, claim.pods if claim else (), progress))
    (pod,) = pods
    refusal = next((each for each in answer.refusals if any(_key(one) == _key(pod) for one in each.pods)), None)
    stated = (pod,) if pod.metadata.key in plan.pods else ()
    return Explained(explain_pod(plan, pod), refusal, _priced(plan, stated, progress))


def _meant(plan: Plan, name: str) -> tuple[list[Pod], list[str]]:
    kind, _, rest = name.partition("/")
    wanted = rest if kind in {"pod", "pods", "node", "nodes"} and rest else name
    known = {**{key: pod for key, (pod, _) in plan.running.items()}, **plan.pods}
    known |= {entry.pod.metadata.key: entry.pod for entry in plan.solution.unschedulable}
    pods = [pod for key, pod in sorted(known.items()) if wanted in {str(key), key.name}]
    nodes = sorted({wanted} & {*plan.claims, *(view.name for view in plan.snapshot.nodes)})
    return ([] if kind in {"node", "nodes"} and rest else pods), ([] if kind in {"pod", "pods"} and rest else nodes)


def _not_one(plan: Plan, name: str, found: list[str]) -> str:
    if not found:
        known = [str(key) for key in (*plan.pods, *plan.running)]
        known += [key.name for key in (*plan.pods, *plan.running)]
        known += [*plan.claims, *(view.name for view in plan.snapshot.nodes)]
        near = [one for one in known if one.startswith(name)][:1] or difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        return f"--explain {name}: there is no such pod or node in the input or the plan{hint}"
    more = f" and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
    return f"--explain {name}: means {', '.join(found[:_LISTED])}{more}; write pod/NAMESPACE/NAME or node/NAME"


def _key(pod: Pod) -> str:
    return str(pod.metadata.key)


def _priced(plan: Plan, pods: tuple[Pod, ...], progress: Progress) -> PreferencePrices | None:
    """Return what the preferences that these pods state cost the plan."""
    stated = preferences_of(plan.snapshot, Demand.each(pods), plan.options) if pods else {}
    if not stated:
        return None
    return prices_of_preferences(
        plan.snapshot, plan.demand, plan.options, of=frozenset(stated), most=_MOST_PREFERENCES, progress=progress
    )


# --- data -------------------------------------------------------------------------------------------------------------


def explained_data(found: Explained) -> dict[str, Any]:
    """Return an explanation in the form of `-o json`."""
    told = found.explanation
    return {
        "kind": told.kind,
        "name": told.name,
        "place": None if told.place is None else _place_data(told.place),
        "why": list(told.why),
        "bindings": [{"code": each.code, "subject": each.subject, "message": each.message} for each in told.bindings],
        "otherNodes": [
            {"nodes": list(each.nodes), "code": each.code, "message": each.message} for each in told.other_nodes
        ],
        "alternatives": [_alternative_data(each) for each in told.alternatives],
        "left": format_resources(told.left),
        "reasons": [reason_data(reason) for reason in told.reasons],
        "refusal": None if found.refusal is None else refusal_data(found.refusal),
        "preferences": None if found.preferences is None else _preferences_data(found.preferences),
    }


def _place_data(place: Place) -> dict[str, Any]:
    return {
        "name": place.name,
        "new": place.is_new,
        "pool": None if place.pool is None else pool_data(place.pool),
        "instanceType": place.instance_type,
        "zone": place.zone,
        "capacityType": place.capacity_type,
        "pricePerHour": None if place.price is None else round(place.price, _DIGITS),
        "types": place.types,
        "pods": dict(place.pods),
        "requests": format_resources(place.requests),
    }


def _alternative_data(each: Alternative) -> dict[str, Any]:
    return {
        "dimension": each.dimension,
        "name": each.name,
        "offering": None if each.offering is None else _offering_data(each.offering),
        "whyNot": each.why_not,
    }


def _offering_data(offering: Offering) -> dict[str, Any]:
    return {
        "pool": pool_data(offering.pool),
        "instanceType": offering.instance_type,
        "zone": offering.zone,
        "capacityType": offering.capacity_type,
        "pricePerHour": round(offering.price, _DIGITS),
    }


def _preferences_data(prices: PreferencePrices) -> dict[str, Any]:
    return {
        "respect": round(prices.respected.price, _DIGITS),
        "ignore": round(prices.ignored.price, _DIGITS),
        "each": [
            {
                "preference": each.words,
                "pods": each.pods,
                "givenUp": each.given_up,
                "pricePerHour": round(each.price, _DIGITS),
            }
            for each in prices.preferences
        ],
    }
