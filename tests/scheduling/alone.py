"""Whether a pod could have a machine of its own: what the laws of the solver hold refusals against."""

from karpenter.model import labels
from karpenter.model.core import Pod
from karpenter.model.instancetype import InstanceType, Offering
from karpenter.model.pods import pod_requests
from karpenter.scheduling import PoolView, Snapshot
from tests.scheduling.acceptance import runs_on, unwelcome
from tests.scheduling.amounts import daemon_requests, total
from tests.scheduling.claims import COMES_UP

TRIED = ("red", "blue", "green", "0", "7")
"""Values tried for labels that a pool leaves open: those that tests speak of, and others."""


def could_launch(snapshot: Snapshot, pod: Pod) -> bool:
    """Return whether some machine of some pool would hold the pod, alone and limits apart."""
    return any(
        _could_hold(snapshot, view, kind, offering=offering, pod=pod)
        for view in snapshot.pools
        if view.unready is None and view.pool.replicas is None
        for kind in view.instance_types
        for offering in kind.offerings
        if offering.available
    )


def _could_hold(snapshot: Snapshot, view: PoolView, kind: InstanceType, *, offering: Offering, pod: Pod) -> bool:
    """Return whether a machine of this type and offering holds the pod, whatever its pool leaves open being granted."""
    own = view.pool.node_requirements()
    place = {labels.ZONE: offering.zone, labels.CAPACITY_TYPE: offering.capacity_type}
    sure = {
        key: next(iter(requirement.values))
        for key, requirement in (*own.items(), *kind.requirements.items())
        if not requirement.complement and len(requirement.values) == 1
    }
    node = {**sure, **place}
    if any(not requirement.allows(node[key]) for key, requirement in own.items() if key in node):
        return False
    taints = view.pool.template.taints
    daemons = (one for one in snapshot.daemons if runs_on(one, {**node, **COMES_UP}, taints))
    wanted = total((pod_requests(pod), *(daemon_requests(snapshot, daemon) for daemon in daemons)))
    if any(amount > kind.allocatable.get(name, 0) for name, amount in wanted.items()):
        return False
    free = [key for key, requirement in own.items() if key not in node and requirement.complement]
    free += [key for key, requirement in own.items() if key not in node and len(requirement.values) > 1]
    candidates: list[dict[str, str]] = [{}]
    for key in free:
        values = [value for value in (*sorted(own[key].values), *TRIED) if own[key].allows(value)]
        candidates = [{**chosen, key: value} for chosen in candidates for value in values]
    return any(not list(unwelcome(pod, {**node, **chosen}, taints, {})) for chosen in candidates)
