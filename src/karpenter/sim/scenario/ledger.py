"""What came of a scenario: dollars, waiting, evictions, and how close budgets came to being broken.

Read off the API and the market alone, as somebody outside would; so any operator can be measured by it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

from karpenter.model import labels
from karpenter.model.core import Pod, PodDisruptionBudget
from karpenter.model.meta import find_condition
from karpenter.model.pods import is_daemon, is_terminal
from karpenter.model.units import ObjectKey, UnixSeconds
from karpenter.runtime import kube as api
from karpenter.runtime.clock import Clock
from karpenter.runtime.controller import run_all
from karpenter.runtime.informer import Informer
from karpenter.runtime.kube import KubeClient, RawObject, WatchEvent
from karpenter.runtime.metrics import Metrics
from karpenter.sim.market.instances import InstanceState
from karpenter.sim.market.market import Market

SAMPLE_S: Final = 60.0
"""How often the bill is read; machines that come or go in between count for what is left of it."""
HOUR_S: Final = 3600.0
_EVICTED: Final = "EvictionByEvictionAPI"
VOLUNTARY: Final = "Underutilized"
_OTHERS: Final = {True: "Interrupted", False: "Deleted"}
"""Why a pod had to go whose node nobody disrupted by choice: the cloud took it, or somebody deleted it."""


@dataclass
class Account:
    """Sums so far."""

    dollar_hours: float = 0.0
    node_hours: float = 0.0
    most_nodes: int = 0
    launches: int = 0
    waits_s: list[float] = field(default_factory=list)
    """Of every pod that was bound, from its creation."""
    evictions: Counter[str] = field(default_factory=Counter)
    """By why the node went."""
    margins: dict[ObjectKey, int] = field(default_factory=dict)
    """Budget to the fewest pods beyond what it wants healthy, whenever it lost one; absent if it never did."""
    waiting: dict[str, UnixSeconds] = field(default_factory=dict)
    """Pods without a node, by uid, since when."""


class Ledger:
    """Watches a cluster and its market, and adds up."""

    def __init__(self, client: KubeClient, market: Market, *, clock: Clock, metrics: Metrics) -> None:
        self._market = market
        self._clock = clock
        self._pods = Informer(client, api.PODS, clock=clock, metrics=metrics)
        self._budgets = Informer(client, api.PDBS, clock=clock, metrics=metrics)
        self._claims = Informer(client, api.NODE_CLAIMS, clock=clock, metrics=metrics)
        self._why: dict[str, str] = {}
        self._bound: set[str] = set()
        self._evicted: set[str] = set()
        self._known: set[str] = set()
        self._health: dict[ObjectKey, tuple[int, int]] = {}
        self.account = Account()
        self._pods.subscribe(self._on_pod)
        self._budgets.subscribe(self._on_budget)
        self._claims.subscribe(self._on_claim)

    async def run(self) -> None:
        """Keep account until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(run_all(self._pods, self._budgets, self._claims))
            group.create_task(self._bill())

    async def _bill(self) -> None:
        last = self._clock.now()
        while True:
            await self._clock.sleep(SAMPLE_S)
            now = self._clock.now()
            self._add_up(now, (now - last) / HOUR_S)
            last = now

    def _add_up(self, now: UnixSeconds, hours: float) -> None:
        account, running = self.account, 0
        for one in self._market.instances():
            if one.id not in self._known:
                self._known.add(one.id)
                account.launches += 1
            if one.state(now) is InstanceState.GONE:
                continue
            running += 1
            price = self._market.price(one.offering)
            account.dollar_hours += hours * (one.price if price is None else price)
        account.node_hours += running * hours
        account.most_nodes = max(account.most_nodes, running)

    def _on_pod(self, event: WatchEvent[Pod]) -> None:
        pod = event.object
        if pod is None or is_daemon(pod):
            return
        uid, now = pod.metadata.uid, self._clock.now()
        if event.type == "DELETED" or is_terminal(pod):
            self.account.waiting.pop(uid, None)
            self._bound.discard(uid)
            self._evicted.discard(uid)
            return
        if pod.spec.node_name and uid not in self._bound:
            self._bound.add(uid)
            self.account.waits_s.append(now - self.account.waiting.pop(uid, now))
        elif not pod.spec.node_name:
            self.account.waiting.setdefault(uid, now)
        target = find_condition(pod.status.conditions, "DisruptionTarget")
        if target is not None and target.reason == _EVICTED and uid not in self._evicted:
            self._evicted.add(uid)
            self.account.evictions[self._why.get(pod.spec.node_name, _OTHERS[False])] += 1

    def _on_budget(self, event: WatchEvent[PodDisruptionBudget]) -> None:
        pdb = event.object
        if pdb is None or event.type == "DELETED" or pdb.status.expected_pods == 0:
            return
        key, status = pdb.metadata.key, pdb.status
        healthy, expected = self._health.get(key, (0, status.expected_pods + 1))
        self._health[key] = (status.current_healthy, status.expected_pods)
        # A workload that grows wants more healthy pods than it has yet: that is nobody's disruption.
        if status.current_healthy < healthy and status.expected_pods <= expected:
            margin = status.current_healthy - status.desired_healthy
            self.account.margins[key] = min(margin, self.account.margins.get(key, margin))

    def _on_claim(self, event: WatchEvent[RawObject]) -> None:
        claim = event.object
        if claim is None:
            return
        node = (claim.get("status") or {}).get("nodeName")
        if node:
            self._why[node] = _why(claim)


def _why(claim: RawObject) -> str:
    """Return why a claim goes, if it does."""
    conditions: list[dict[str, Any]] = (claim.get("status") or {}).get("conditions") or []
    chosen = next((one for one in conditions if one["type"] == "DisruptionReason" and one["status"] == "True"), None)
    if chosen is not None:
        return str(chosen.get("reason"))
    return _OTHERS[labels.INTERRUPTION in (claim["metadata"].get("annotations") or {})]
