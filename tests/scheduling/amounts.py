"""What pods and daemons ask for, added up in the verifier's own way."""

from collections.abc import Iterable, Mapping

from karpenter.model.core import Pod
from karpenter.model.pods import pod_requests
from karpenter.model.resources import parse_amount
from karpenter.scheduling import Snapshot


def total(terms: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return the sum, without resources of which nothing is asked."""
    added: dict[str, int] = {}
    for term in terms:
        for name, amount in term.items():
            added[name] = added.get(name, 0) + amount
    return {name: amount for name, amount in added.items() if amount}


def daemon_requests(snapshot: Snapshot, daemon: Pod) -> dict[str, int]:
    """Return what a DaemonSet's pod asks for once LimitRanges have given it their defaults."""
    filled = dict(pod_requests(daemon))
    assert len(daemon.spec.containers) == 1, "the verifier knows daemons of one container"
    asked = daemon.spec.containers[0].resources
    for limit_range in snapshot.limit_ranges:
        if limit_range.metadata.namespace == daemon.metadata.namespace:
            for item in limit_range.spec.limits:
                if item.type == "Container":
                    for name, raw in {**item.default, **item.default_request}.items():
                        if name not in asked.requests and name not in asked.limits:
                            filled[name] = parse_amount(name, raw)
    return filled
