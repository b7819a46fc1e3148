"""A small cluster to which everything happens that may: for each seed the same.

Pools and workloads are drawn, then a dozen mishaps over ten minutes: scaling, drift, expiry, interruptions, shortages,
deleted nodes and claims, pauses, crashes at any write, while the API and the cloud fail now and then. What must hold is
checked at every change; in the end, with all trouble over, the cluster has to be whole.
"""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from karpenter.app.pause import change, pausing
from karpenter.app.settings import Settings
from karpenter.cloud.unavailable import OfferingKey
from karpenter.disruption.records import CommandRecord
from karpenter.model import labels
from karpenter.model.pods import is_reschedulable
from karpenter.runtime import kube as api
from karpenter.runtime.clock import LoopClock
from karpenter.runtime.kube import Conflict, KubeError, NotFound, TooManyRequests, Unavailable
from karpenter.runtime.kubememory import MemoryKubeClient
from karpenter.scheduling.policy import Policy
from karpenter.sim.market.faults import Fault, FaultKind
from karpenter.sim.market.state import MarketSettings
from tests.scenarios.test_rolling import a_budget
from tests.scenarios.toys import CATALOG, a_pool_manifest, a_toy_provisioner
from tests.scenarios.trouble import Trouble, TroubledClient
from tests.scenarios.watching import Sight, watched
from tests.scenarios.world import World, a_world

MISHAPS = 8
PAUSE_S = (5.0, 45.0)
"""Between two mishaps."""
DEADLY = 0.4
"""Share of the changes of a template after which our process dies in the middle of what follows."""
SETTLING_S = 1500.0
TYPE_SETS = (("c.4", "m.4"), ("c.4", "c.8"), ("m.4", "r.4", "m.8"))


class Weather(Trouble):
    """The API fails now and then while it is bad."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self.is_bad = True

    def before(self, verb: str, resource: str) -> KubeError | None:
        if not self._strikes(0.03):
            return None
        if verb == "patch" and self._dice.random() < 0.5:
            return Conflict("chaos: somebody else was faster")
        return self._dice.choice(
            (Unavailable("chaos: no answer"), TooManyRequests("chaos: slow down", retry_after_s=1))
        )

    def after(self, verb: str, resource: str) -> KubeError | None:
        return Unavailable("chaos: the answer was lost") if self._strikes(0.015) else None

    def cuts(self, resource: str) -> bool:
        return self._strikes(0.005)

    def delay_s(self, resource: str) -> float:
        return self._dice.uniform(0.1, 3.0) if self._strikes(0.01) else 0.0

    def _strikes(self, share: float) -> bool:
        return self.is_bad and self._dice.random() < share


@dataclass
class Watch:
    """What must hold at every moment, and what is remembered for it."""

    sight: Sight
    guarded: dict[str, int]
    """App to the number of its pods that a budget wants healthy."""
    excused: set[str] = field(default_factory=set)
    """Apps whose budget was broken by a cloud that takes machines away, or by their owner."""
    commands: dict[str, set[str]] = field(default_factory=dict)
    """Candidate to the commands that it was in."""
    was_whole: set[str] = field(default_factory=set)
    price: Callable[[OfferingKey], float | None] = lambda _: None
    is_cloud_odd: bool = False
    """Whether the cloud may have delivered what nobody asked for, or had less than it said."""
    promises: dict[str, CommandRecord] = field(default_factory=dict)
    """Commands for the sake of the price that are under way, by id."""
    prices: dict[str, float] = field(default_factory=dict)
    """What each claim's machine costs, also after it has gone."""

    def look(self) -> None:
        self._one_replacement_a_node()
        self._no_voluntary_rise()
        self._budgets_hold()

    def _no_voluntary_rise(self) -> None:
        """Machines that replace others for the sake of the price cost less than those together."""
        for name, claim in self.sight.claims.items():
            key = _offering(claim)
            found = self.price(key) if key is not None else None
            if found is not None:
                self.prices[name] = found
            text = _annotation(claim, labels.DISRUPTION_COMMAND)
            record = msgspec.json.decode(text, type=CommandRecord) if text else None
            if record is not None and record.reason == "Underutilized":
                self.promises[record.id] = record
        for record in list(self.promises.values()):
            if record.replacements and all(name in self.prices for name in (*record.replacements, *record.claims)):
                del self.promises[record.id]
                before, after = (
                    sum(self.prices[name] for name in names) for names in (record.claims, record.replacements)
                )
                assert after < before or self.is_cloud_odd, f"{record} replaces {before} $/h by {after} $/h"

    def _one_replacement_a_node(self) -> None:
        """Of all the machines ever launched to replace a node, those of one command at most are still booting."""
        for name, claim in self.sight.claims.items():
            text = _annotation(claim, labels.DISRUPTION_COMMAND)
            if text:
                record = msgspec.json.decode(text, type=CommandRecord)
                self.commands.setdefault(name, set()).add(record.id)
        booting: dict[str, set[str]] = {}
        for name, claim in self.sight.claims.items():
            metadata = claim["metadata"]
            command = _annotation(claim, labels.REPLACEMENT_FOR)
            if command and "deletionTimestamp" not in metadata and not _is_true(claim, "Initialized"):
                booting.setdefault(command, set()).add(name)
        for candidate, commands in self.commands.items():
            busy = sorted(commands & booting.keys())
            assert len(busy) <= 1, f"{candidate} is being replaced twice: {[booting[one] for one in busy]}"

    def _budgets_hold(self) -> None:
        for app, wanted in self.guarded.items():
            mine = [pod for pod in self.sight.pods.values() if pod.metadata.labels.get("app") == app]
            healthy = sum(_is_healthy(pod) for pod in mine)
            if healthy >= wanted:
                self.was_whole.add(app)
            elif app in self.was_whole and app not in self.excused:
                raise AssertionError(f"{app} has {healthy} healthy pods, its budget wants {wanted}")


def _offering(claim: dict[str, Any]) -> OfferingKey | None:
    """Return what the cloud gave a claim; None before it did."""
    found = claim["metadata"].get("labels", {})
    place = [found.get(key) for key in (labels.INSTANCE_TYPE, labels.ZONE, labels.CAPACITY_TYPE)]
    return OfferingKey(*place) if all(place) and claim.get("status", {}).get("providerID") else None


def _annotation(claim: dict[str, Any], key: str) -> str | None:
    return claim["metadata"].get("annotations", {}).get(key)


def _is_true(claim: dict[str, Any], kind: str) -> bool:
    conditions = claim.get("status", {}).get("conditions", ())
    return any(one["type"] == kind and one["status"] == "True" for one in conditions)


def _is_healthy(pod: Any) -> bool:
    ready = any(one.type == "Ready" and one.status == "True" for one in pod.status.conditions)
    return ready and not pod.metadata.is_deleting


class Chaos:
    """One seed's run."""

    def __init__(self, seed: int, clock: LoopClock) -> None:
        self.seed = seed
        self.dice = random.Random(seed)
        self.clock = clock
        self.weather = Weather(random.Random(seed + 1))
        self.replicas: dict[str, int] = {}
        self.history: list[str] = []
        """What happened, for whoever reads a failure."""

    async def run(self) -> None:
        """Let everything happen; raises AssertionError, with the history, when something does not hold."""
        market = MarketSettings(
            seed=self.dice.randrange(1000),
            speed=self.dice.choice((1.0, 5.0, 10.0, 20.0)),
            shortage_share=self.dice.choice((0.0, 0.1)),
            memory_shortfall=self.dice.choice((0.0, 0.0, 0.04)),
        )
        clients: list[TroubledClient] = []

        def through(kube: MemoryKubeClient) -> TroubledClient:
            clients.append(TroubledClient(kube, self.clock, self.weather))
            return clients[-1]

        # Half of the clusters consolidate whenever that is cheaper, which the rails would not allow in so short a time.
        eager = random.Random(self.seed + 2).random() < 0.5
        settings = Settings(policy=Policy(rails=not eager, node_fee=0.0 if eager else 0.01, move_price=0.0))
        self._note(f"{'eager' if eager else 'careful'} consolidation")
        async with a_world(self.clock, catalog=CATALOG, market=market, through=through, settings=settings) as world:
            try:
                await self._live(world, clients[0])
            except BaseException as error:
                error.add_note("\n".join(self.history))
                raise

    async def _live(self, world: World, client: TroubledClient) -> None:
        guarded = await self._populate(world)
        undertaker = asyncio.create_task(self._bury(world, client), name="undertaker")
        try:
            async with watched(world) as sight:
                odd = world.market.settings.shortage_share > 0
                watch = Watch(sight, guarded, price=world.market.price, is_cloud_odd=odd)
                sight.checks.append(watch.look)
                for _ in range(MISHAPS):
                    await self.clock.sleep(self.dice.uniform(*PAUSE_S))
                    await self._mishap(world, client, watch)
                await self._end_of_trouble(world, client)
                await self._settled(world)
        finally:
            undertaker.cancel()

    async def _populate(self, world: World) -> dict[str, int]:
        types = self.dice.choice(TYPE_SETS)
        self.is_provisioner = self.dice.random() < 0.5
        if self.is_provisioner:
            await world.apply(a_toy_provisioner(types=types, consolidation={"enabled": True}))
        else:
            disruption = {"consolidateAfter": "10s", "budgets": [{"nodes": self.dice.choice(("1", "2", "50%"))}]}
            kinds = self.dice.choice((("on-demand",), ("spot",), ("spot", "on-demand")))
            await world.apply(a_pool_manifest(types=types, capacity_types=kinds, disruption=disruption))
        guarded: dict[str, int] = {}
        for app in ("a", "b", "c")[: self.dice.randint(2, 3)]:
            self.replicas[app] = self.dice.randint(1, 4)
            await world.deploy(app, self.replicas[app], cpu=self.dice.choice(("500m", "1", "2", "3")))
            if self.replicas[app] > 1 and self.dice.random() < 0.7:
                guarded[app] = self.replicas[app] - 1
                budget = a_budget(app, min_available=guarded[app])
                await world.kube.create(api.PDBS, budget, namespace="default")
        self._note(f"{'Provisioner' if self.is_provisioner else 'NodePool'} of {types}, {self.replicas}, {guarded}")
        return guarded

    def _note(self, what: str) -> None:
        self.history.append(f"{self.clock.now() - 1_700_000_000:8.1f}  {what}")

    # --- what happens -----------------------------------------------------------------------------------------------

    async def _mishap(self, world: World, client: TroubledClient, watch: Watch) -> None:
        acts = (
            self._scale, self._drift, self._drift, self._expire, self._interrupt, self._delete_node,
            self._delete_claim, self._shortage, self._fault, self._pause, self._crash, self._crash,
        )  # fmt: skip
        act = self.dice.choice(acts)
        try:
            await act(world, client, watch)
        except NotFound:
            self._note("  … which was gone by then")

    async def _scale(self, world: World, client: TroubledClient, watch: Watch) -> None:
        app = self.dice.choice(sorted(set(self.replicas) - set(watch.guarded)) or sorted(self.replicas))
        least = watch.guarded.get(app, -1) + 1
        self.replicas[app] = self.dice.randint(least, least + 4)
        if app in watch.guarded:
            watch.excused.add(app)
        self._note(f"scale {app} to {self.replicas[app]}")
        await world.scale(app, self.replicas[app])

    async def _drift(self, world: World, client: TroubledClient, watch: Watch) -> None:
        team = {"team": str(self.dice.randrange(100))}
        self._note(f"the template changes: {team}")
        if self.is_provisioner:
            await world.kube.patch(api.PROVISIONERS, "default", {"spec": {"labels": team}})
        else:
            await world.kube.patch(api.NODE_POOLS, "default", {"spec": {"template": {"metadata": {"labels": team}}}})
        if self.dice.random() < DEADLY:
            await self._crash(world, client, watch)

    async def _expire(self, world: World, client: TroubledClient, watch: Watch) -> None:
        seconds = self.dice.randint(60, 200)
        self._note(f"nodes live {seconds} s")
        if self.is_provisioner:
            await world.kube.patch(api.PROVISIONERS, "default", {"spec": {"ttlSecondsUntilExpired": seconds}})

    async def _interrupt(self, world: World, client: TroubledClient, watch: Watch) -> None:
        spot = [one for one in world.instances() if one.offering.capacity_type == labels.SPOT]
        if spot:
            victim = self.dice.choice(spot)
            self._note(f"{victim.id} on {victim.node_name} is interrupted")
            # Within the two minutes of a notice budgets are kept as long as that is possible, not longer.
            watch.excused.update(watch.guarded)
            world.market.interrupt(victim.provider_id)

    async def _delete_node(self, world: World, client: TroubledClient, watch: Watch) -> None:
        nodes = sorted(watch.sight.nodes)
        if nodes:
            name = self.dice.choice(nodes)
            self._note(f"somebody deletes node {name}")
            await world.kube.delete(api.NODES, name)

    async def _delete_claim(self, world: World, client: TroubledClient, watch: Watch) -> None:
        claims = sorted(watch.sight.claims)
        if claims:
            name = self.dice.choice(claims)
            self._note(f"somebody deletes nodeclaim {name}")
            await world.kube.delete(api.NODE_CLAIMS, name)

    async def _shortage(self, world: World, client: TroubledClient, watch: Watch) -> None:
        zone = self.dice.choice(("a", "b", "*"))
        until = self.clock.now() + self.dice.uniform(20, 120)
        watch.is_cloud_odd = True
        self._note(f"zone {zone} is sold out for {until - self.clock.now():.0f} s")
        world.market.exhaust(zone=zone, until=until)

    async def _fault(self, world: World, client: TroubledClient, watch: Watch) -> None:
        kind = self.dice.choice(tuple(FaultKind))
        operation = self.dice.choice(("create", "delete", "get", "list"))
        other = self.dice.choice([one.name for one in CATALOG.instance_types])
        fault = Fault(kind, operation, times=self.dice.randint(1, 3), instance_type=other, seconds=2.0)
        self._note(f"fault: {fault}")
        watch.is_cloud_odd = watch.is_cloud_odd or kind is FaultKind.OTHER_TYPE
        world.market.inject(fault)

    async def _pause(self, world: World, client: TroubledClient, watch: Watch) -> None:
        level: Any = self.dice.choice(("disruption", "everything", None))
        self._note(f"pause: {level}")
        edit = pausing(None, level) if level else dict.fromkeys
        await change(world.kube, "kube-system", edit)

    async def _crash(self, world: World, client: TroubledClient, watch: Watch) -> None:
        moments = self.dice.randint(1, 40)
        self._note(f"our process will die {moments} moments from now")
        client.reaper.come_after(moments)

    async def _bury(self, world: World, client: TroubledClient) -> None:
        """Whenever our process died, start another one."""
        while True:
            await client.reaper.has_come.wait()
            self._note("our process dies")
            client.reaper.leave()
            await world.crash_operator()

    # --- the end ----------------------------------------------------------------------------------------------------

    async def _end_of_trouble(self, world: World, client: TroubledClient) -> None:
        self._note("all trouble ends")
        self.weather.is_bad = False
        client.reaper.leave()
        world.market.replenish()
        world.market.settings = replace(world.market.settings, shortage_share=0.0)
        await change(world.kube, "kube-system", dict.fromkeys)
        if self.is_provisioner:
            await world.kube.patch(api.PROVISIONERS, "default", {"spec": {"ttlSecondsUntilExpired": None}})

    async def _settled(self, world: World) -> None:
        """Every pod runs, every machine has its claim and its node, and nothing is half done."""
        wanted = sum(self.replicas.values())

        async def is_whole() -> bool:
            self.unsettled = await self._complaint(world, wanted)
            return self.unsettled is None

        try:
            await world.until(is_whole, within_s=SETTLING_S, step_s=5)
        except AssertionError as error:
            raise AssertionError(f"not whole after {SETTLING_S:.0f} s: {self.unsettled}") from error

    async def _complaint(self, world: World, wanted: int) -> str | None:
        pods = [pod for pod in await world.pods() if is_reschedulable(pod)]
        running = sum(pod.status.phase == "Running" for pod in pods)
        if not running == len(pods) == wanted:
            return f"{running} of {len(pods)} pods run, {wanted} are wanted"
        claims, nodes = await world.claims(), await world.nodes()
        machines = {one.provider_id for one in world.instances()}
        asked = {claim.get("status", {}).get("providerID") for claim in claims}
        joined = {node.spec.provider_id for node in nodes}
        if not machines == asked == joined:
            return f"machines {sorted(machines)}, claims {sorted(map(str, asked))}, nodes {sorted(joined)}"
        if await world.tainted() or await world.leaving():
            return f"tainted {await world.tainted()}, leaving {await world.leaving()}"
        half_done = [
            one["metadata"]["name"]
            for one in claims
            if labels.DISRUPTION_COMMAND in one["metadata"].get("annotations", {})
        ]
        return f"commands on {half_done}" if half_done else None
