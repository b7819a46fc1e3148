"""The peer's recorded plans, read as solutions of ours so that the verifier can judge them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.inputs import Scenario
from karpenter.model import labels
from karpenter.model.core import Pod
from karpenter.model.pods import pod_requests
from karpenter.model.requirements import Requirement, Requirements
from karpenter.model.resources import Resources
from karpenter.scheduling import ClaimPlan, PoolView, Solution


def peer_solution(folder: Path, race: Scenario) -> Solution | None:
    """Return what the peer planned for a scenario with one worker; None where nothing was recorded.

    Each machine is taken to be of exactly the type, zone and capacity type that the record names.
    """
    path = folder / "peer-solutions" / f"{race.name}.w1.json.gz"
    if not path.exists():
        return None
    pods = {pod.metadata.name: pod for pod in race.pods}
    pools = {view.pool.metadata.name: view for view in race.snapshot.pools}
    recorded = json.loads(gzip.decompress(path.read_bytes()))
    claims = tuple(
        _claim(f"peer-{at}", entry, pools[entry["nodePool"]], pods=tuple(pods[name] for name in entry["pods"]))
        for at, entry in enumerate(recorded)
    )
    return Solution(
        new_claims=claims,
        placements={pod.metadata.key: claim.name for claim in claims for pod in claim.pods},
        complete=False,  # pods that it left pending are not in the record
    )


def _claim(name: str, entry: Mapping[str, Any], view: PoolView, *, pods: tuple[Pod, ...]) -> ClaimPlan:
    decided = {
        labels.INSTANCE_TYPE: entry["instanceType"],
        labels.ZONE: entry["zone"],
        labels.CAPACITY_TYPE: entry["capacityType"],
    }
    stated = view.pool.node_requirements().intersect(Requirement.of(key, "In", (it,)) for key, it in decided.items())
    return ClaimPlan(
        name=name,
        pool=view.pool.key,
        requirements=Requirements(stated.values()),
        pods=pods,
        instance_types=(entry["instanceType"],),
        instance_type=entry["instanceType"],
        zone=entry["zone"],
        capacity_type=entry["capacityType"],
        price=entry["price"],
        requests=_sum(pods),
        expected_price=entry["price"],
        worst_price=entry["price"],
    )


def _sum(pods: tuple[Pod, ...]) -> Resources:
    asked = [pod_requests(pod) for pod in pods]
    names = {name for amounts in asked for name in amounts}
    return {name: amount for name in names if (amount := sum(amounts.get(name, 0) for amounts in asked))}
