"""The modes in which an input is solved: each makes of it what is solved, and how."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from benchmarks.inputs import Scenario
from benchmarks.races import Peer
from karpenter.model import labels
from karpenter.model.core import Pod
from karpenter.model.requirements import Requirement
from karpenter.scheduling import Options, Policy, PoolView

FREE: Final = Policy(rails=False, node_fee=0.0)
DAEMON: Final = msgspec.convert(
    {
        "metadata": {"name": "agent", "namespace": "kube-system", "uid": "agent"},
        "spec": {
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}],
            "tolerations": [{"operator": "Exists"}],
        },
    },
    type=Pod,
)


@dataclass(frozen=True, slots=True)
class Mode:
    """One way to solve an input."""

    name: str
    prepare: Callable[[Scenario, Peer], tuple[Scenario, Options] | None]
    """Returns what is solved and how; None for inputs of which this mode says nothing."""
    is_comparable: bool = True
    """Whether the peer's figures and the recorded bound are about the same task."""


def _free(rounds: int) -> Callable[[Scenario, Peer], tuple[Scenario, Options]]:
    return lambda race, _: (race, Options(policy=FREE, rounds=rounds))


def _rails(race: Scenario, _: Peer) -> tuple[Scenario, Options]:
    return race, Options()


def _peers_types(race: Scenario, peer: Peer) -> tuple[Scenario, Options] | None:
    """Restrict the pools to the types that the peer launched."""
    if peer.plan is None or not peer.plan.new_claims:
        return None
    types = sorted({claim.instance_type for claim in peer.plan.new_claims})
    return _restricted(race, Requirement.of(labels.INSTANCE_TYPE, "In", types)), Options(policy=FREE)


def _peers_nodes(rounds: int) -> Callable[[Scenario, Peer], tuple[Scenario, Options] | None]:
    """Launch as many nodes as the peer at most."""

    def prepare(race: Scenario, peer: Peer) -> tuple[Scenario, Options] | None:
        return (race, Options(policy=FREE, rounds=rounds, max_nodes=peer.nodes)) if peer.nodes else None

    return prepare


def _with_daemon(race: Scenario, _: Peer) -> tuple[Scenario, Options]:
    """Run a daemon of half a core and 1 GiB on every node."""
    return replace(race, snapshot=replace(race.snapshot, daemons=(DAEMON,))), Options(policy=FREE)


def _ignoring(race: Scenario, _: Peer) -> tuple[Scenario, Options] | None:
    """Heed no preferences; only of inputs with pods that state some."""
    affinities = (pod.spec.affinity for pod in race.pods)
    sides = (side for each in affinities if each for side in (each.pod_affinity, each.pod_anti_affinity) if side)
    if not any(side.preferred for side in sides):
        return None
    return race, Options(policy=replace(FREE, preferences="Ignore"))


def _restricted(race: Scenario, requirement: Requirement) -> Scenario:
    def narrowed(view: PoolView) -> PoolView:
        template = view.pool.template
        requirements = template.requirements.intersect([requirement])
        return replace(view, pool=replace(view.pool, template=replace(template, requirements=requirements)))

    return replace(race, snapshot=replace(race.snapshot, pools=tuple(map(narrowed, race.snapshot.pools))))


MODES: Final[Sequence[Mode]] = (
    Mode("first", _free(0)),
    Mode("free", _free(Options().rounds)),
    Mode("rails", _rails),
    Mode("peer's types", _peers_types),
    Mode("peer's nodes first", _peers_nodes(0)),
    Mode("peer's nodes", _peers_nodes(Options().rounds)),
    Mode("with a daemon", _with_daemon, is_comparable=False),
    Mode("ignore", _ignoring, is_comparable=False),
)
