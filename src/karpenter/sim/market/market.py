"""The market engine: launches, ends, interruptions, faults; deterministic for a seed and a clock.

Every method acts at once; what takes time in a cloud shows in the moments that instances carry.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias

from karpenter.cloud.unavailable import OfferingKey
from karpenter.model import labels
from karpenter.model.instance import Interruption, InterruptionKind
from karpenter.model.units import UnixSeconds
from karpenter.runtime.clock import Clock
from karpenter.sim.market import watch
from karpenter.sim.market.account import Account
from karpenter.sim.market.capacity import Capacity, Pattern, Shortage, Stock, is_short_by_chance
from karpenter.sim.market.dice import draw, hex_digits, log_normal
from karpenter.sim.market.faults import LAUNCH, Fault, take
from karpenter.sim.market.instances import InstanceState, MarketInstance
from karpenter.sim.market.launching import LaunchRequest, LaunchResult
from karpenter.sim.market.prices import STEP_S, Prices
from karpenter.sim.market.reservations import PRICE_SHARE, CapacityReservation
from karpenter.sim.market.state import STATE_KEY, MarketSettings, MarketState, plain

KEPT_S: Final = 3600.0
"""For how long an instance that is gone can still be seen."""
NOTICES_KEPT_S: Final = 300.0
"""For how long an undelivered notice waits (INT-9)."""
_DEEP: Final = 10
"""A spot pool with this many instances left counts as ample."""


OnChange: TypeAlias = Callable[[Mapping[str, Any]], None]
"""Takes what a change made new: storage key to plain JSON value, None for what is to be forgotten."""


class Market:
    """One account's side of the cloud. Not safe for several event loops."""

    def __init__(
        self,
        account: Account,
        prices: Prices,
        clock: Clock,
        *,
        settings: MarketSettings,
        state: MarketState | None = None,
        on_change: OnChange | None = None,
    ) -> None:
        """`state` continues a market that was dumped; `on_change` is told after every change what to store."""
        state = state or MarketState(seed=settings.seed, started_at=clock.now())
        self.account = account
        self.settings = settings
        self._prices = prices
        self._clock = clock
        self._on_change = on_change
        self._seed = state.seed
        self._started_at = state.started_at
        self._launches = state.launches
        self._image_generation = state.image_generation
        self._instances = {instance.id: instance for instance in state.instances}
        self._by_token = {instance.token: instance.id for instance in state.instances}
        self._capacity = state.capacity
        self._reservations = state.reservations
        self._faults = state.faults
        self._notices = state.notices
        self._mailboxes: dict[watch.Mailbox, None] = {}  # in an order that equal runs share, which a set has not
        self._notice_box = watch.Mailbox()

    # --- looking ------------------------------------------------------------------------------------------------------

    @property
    def image_generation(self) -> int:
        """The newest generation of images that is out."""
        return self._image_generation

    @property
    def price_step(self) -> int:
        """The hour since the market began whose prices hold now."""
        hour = max(0, int((self._clock.now() - self._started_at) // STEP_S))
        return hour - hour % self.settings.price_hours

    @property
    def price_since(self) -> UnixSeconds:
        """When the prices of now began to hold."""
        return UnixSeconds(self._started_at + self.price_step * STEP_S)

    def price(self, key: OfferingKey) -> float | None:
        """Return USD per hour now; None for what is not sold."""
        if key.capacity_type == labels.RESERVED:
            full = self._prices.price(key._replace(capacity_type=labels.ON_DEMAND), self.price_step)
            return None if full is None else full * PRICE_SHARE
        return self._prices.price(key, self.price_step)

    @property
    def reservations(self) -> tuple[CapacityReservation, ...]:
        """The account's capacity reservations, by id."""
        return self._reservations

    def reserved_left(self, reservation: str) -> int:
        """Return how many machines a reservation has left; 0 for one that is not there."""
        held = sum(one.count for one in self._reservations if one.id == reservation)
        used = sum(one.blueprint.reservation_id == reservation for one in self.instances())
        return max(0, held - used)

    def instances(self) -> tuple[MarketInstance, ...]:
        """Return the instances that are not gone, in the order of their launch."""
        now = self._clock.now()
        return tuple(one for one in self._instances.values() if one.state(now) is not InstanceState.GONE)

    def remembered(self) -> tuple[MarketInstance, ...]:
        """Return the instances that can be seen, those that are gone included, in the order of their launch."""
        return tuple(self._instances.values())

    def find(self, instance: str) -> MarketInstance | None:
        """Return an instance by id or provider id, gone or not; None when it was never there or is forgotten."""
        return self._instances.get(instance.rpartition("/")[2])

    def running(self, token: str) -> MarketInstance | None:
        """Return the living instance that was launched with a token; None when there is none."""
        instance = self._instances.get(self._by_token.get(token, ""))
        alive = {InstanceState.PENDING, InstanceState.RUNNING}
        return instance if instance is not None and instance.state(self._clock.now()) in alive else None

    async def changes(self) -> AsyncIterator[watch.InstanceChange]:
        """Yield every instance as it is now, then each once more whenever its state changes, for ever."""
        mailbox = watch.Mailbox()
        self._mailboxes[mailbox] = None
        mailbox.post(self._instances)
        try:
            async for change in watch.changes(mailbox, self._instances.get, self._clock):
                yield change
        finally:
            self._mailboxes.pop(mailbox, None)

    # --- buying -------------------------------------------------------------------------------------------------------

    def launch(self, request: LaunchRequest) -> LaunchResult:
        """Launch one instance: spot as price and capacity advise, on-demand at the lowest price.

        Options are tried from the best to the worst, unless they are given `in_order`. A spot option counts as dearer
        the fewer instances are left of it: up to twice its price, below ten. With ample capacity the cheapest wins;
        ties go by type and zone name.
        """
        now = self._clock.now()
        running = self.running(request.token)
        if running is not None:
            return LaunchResult(running)
        limited = bool(self._capacity.stocks)
        taken = tuple(instance.offering for instance in self.instances()) if limited else ()
        is_full = bool(request.reservation) and not self.reserved_left(request.reservation)
        refused = []
        ranked = self._ranked(request.options, taken)
        for _, key, price in ranked if request.in_order else sorted(ranked):
            if is_full or self._is_sold_out(key, taken, now):
                refused.append(key)
                continue
            return LaunchResult(self._start(request, self._delivered(key), price, now=now), tuple(refused))
        return LaunchResult(None, tuple(refused))

    def _ranked(
        self, options: tuple[OfferingKey, ...], taken: tuple[OfferingKey, ...]
    ) -> list[tuple[float, OfferingKey, float]]:
        ranked = []
        for key in options:
            price = self.price(key)
            if price is None:
                continue
            left = self._capacity.left(key, taken) if key.capacity_type == labels.SPOT else None
            scarcity = 0.0 if left is None else max(0, _DEEP - left) / _DEEP
            ranked.append((price * (1 + scarcity), key, price))
        return ranked

    def _is_sold_out(self, key: OfferingKey, taken: tuple[OfferingKey, ...], now: UnixSeconds) -> bool:
        return (
            self._capacity.is_short(key, now)
            or self._capacity.left(key, taken) == 0
            or is_short_by_chance(key, now - self._started_at, seed=self._seed, share=self.settings.shortage_share)
        )

    def _delivered(self, key: OfferingKey) -> OfferingKey:
        """Return the offering that is really launched: another type when a fault says so."""
        for fault in self.take_faults(LAUNCH):
            key = key._replace(instance_type=fault.instance_type)
        return key

    def _start(self, request: LaunchRequest, key: OfferingKey, price: float, *, now: UnixSeconds) -> MarketInstance:
        self._forget(now)
        self._launches += 1
        ordinal, settings = self._launches, self.settings
        chance = draw(self._seed, "ready", ordinal)
        ready_s = log_normal(chance, p50=settings.ready_p50_s, p90=settings.ready_p90_s) / settings.speed
        blueprint = request.blueprint(key)
        address = self._free_address(blueprint.subnet_id, ordinal)
        instance = MarketInstance(
            id=f"i-0{hex_digits(self._seed, 'instance', ordinal, digits=16)}",
            ordinal=ordinal,
            token=request.token,
            offering=key,
            price=price,
            private_ip=address,
            node_name=f"ip-{address.replace('.', '-')}.{self.account.region}.compute.internal",
            blueprint=blueprint,
            tags=dict(request.tags),
            launched_at=now,
            booted_at=UnixSeconds(now + settings.booted_share * ready_s),
            ready_at=UnixSeconds(now + ready_s),
        )
        self._put(instance)
        return instance

    def _free_address(self, subnet_id: str, ordinal: int) -> str:
        subnet = self.account.subnet(subnet_id)
        used = {instance.private_ip for instance in self._instances.values()}
        for offset in range(subnet.size):
            address = subnet.address((ordinal + offset) % subnet.size)
            if address not in used:
                return address
        raise RuntimeError(f"subnet {subnet_id} has no free address")  # choosing a subnet looks at free addresses

    def free_addresses(self, subnet_id: str) -> int:
        """Return how many more instances fit into a subnet."""
        inside = sum(one.blueprint.subnet_id == subnet_id for one in self._instances.values())
        return self.account.subnet(subnet_id).size - inside

    def terminate(self, instance: str) -> None:
        """Begin the end of an instance, by id or provider id; nothing happens when it is ending or unknown."""
        found, now = self.find(instance), self._clock.now()
        if found is None or found.state(now) in {InstanceState.TERMINATING, InstanceState.GONE}:
            return
        self._put(self._ending(found, now))

    def tag(self, instance: str, tags: Mapping[str, str | None]) -> None:
        """Set tags of an instance, by id or provider id; None takes one off. Raises KeyError."""
        found = self._living(instance)
        changed = {**found.tags, **tags}
        self._put(replace(found, tags={key: value for key, value in changed.items() if value is not None}))

    def _ending(self, instance: MarketInstance, at: UnixSeconds) -> MarketInstance:
        gone_at = UnixSeconds(at + self.settings.termination_s / self.settings.speed)
        return replace(instance, terminating_at=at, gone_at=gone_at)

    # --- making trouble -----------------------------------------------------------------------------------------------

    def exhaust(
        self,
        instance_type: str = "*",
        zone: str = "*",
        capacity_type: str = "*",
        *,
        until: UnixSeconds | None = None,
    ) -> None:
        """Sell out offerings, given by names or globs; running instances stay."""
        shortage = Shortage(Pattern(instance_type, zone, capacity_type), until)
        self._set_capacity(replace(self._capacity, shortages=(*self._capacity.shortages, shortage)))

    def limit(self, instances: int, *, instance_type: str = "*", zone: str = "*", capacity_type: str = "*") -> None:
        """Let all matching offerings together have no more than so many instances."""
        stock = Stock(Pattern(instance_type, zone, capacity_type), instances)
        self._set_capacity(replace(self._capacity, stocks=(*self._capacity.stocks, stock)))

    def declare(self, shortages: Iterable[Shortage], stocks: Iterable[Stock]) -> None:
        """Let these limits hold beside those of `exhaust` and `limit`; they replace what was declared before."""
        capacity = Capacity(
            shortages=(
                *(one for one in self._capacity.shortages if not one.is_declared),
                *(replace(one, is_declared=True) for one in shortages),
            ),
            stocks=(
                *(one for one in self._capacity.stocks if not one.is_declared),
                *(replace(one, is_declared=True) for one in stocks),
            ),
        )
        if capacity != self._capacity:
            self._set_capacity(capacity)

    def reserve(self, reservations: Iterable[CapacityReservation]) -> None:
        """Let the account hold these reservations, and no others."""
        held = tuple(sorted(reservations, key=lambda one: one.id))
        if held != self._reservations:
            self._reservations = held
            self._changed()

    def replenish(self) -> None:
        """End all shortages and limits."""
        self._set_capacity(Capacity())

    def interrupt(self, instance: str) -> Interruption:
        """Announce the end of a spot instance `notice_s` from now, and end it then.

        Raises:
            KeyError: there is no such instance.
            ValueError: it is not a spot instance.
        """
        deadline = UnixSeconds(self._clock.now() + self.settings.notice_s)
        found = self._living(instance)
        if found.offering.capacity_type != labels.SPOT:
            raise ValueError(f"{found.id} is {found.offering.capacity_type}: only spot instances are interrupted")
        if found.terminating_at is None:
            self._put(self._ending(found, deadline))
        return self.announce(instance, InterruptionKind.SPOT_INTERRUPTION, deadline=deadline)

    def kill(self, instance: str) -> Interruption:
        """End an instance as if somebody else had: at once, and told afterwards. Raises KeyError."""
        self.terminate(self._living(instance).id)
        return self.announce(instance, InterruptionKind.TERMINATING)

    def announce(self, instance: str, kind: InterruptionKind, *, deadline: UnixSeconds | None = None) -> Interruption:
        """Put a notice about an instance into the queue. Raises KeyError."""
        notice = Interruption(kind, self._living(instance).provider_id, self._clock.now(), deadline)
        self._notices = (*self._notices, notice)
        self._notice_box.post([notice.provider_id])
        self._changed()
        return notice

    def _living(self, instance: str) -> MarketInstance:
        found = self.find(instance)
        if found is None or found.state(self._clock.now()) is InstanceState.GONE:
            raise KeyError(f"there is no instance {instance!r}")
        return found

    def release_images(self) -> None:
        """Publish the next generation of images."""
        self._image_generation += 1
        self._changed()

    def inject(self, fault: Fault) -> None:
        """Make something go wrong with calls to come."""
        self._faults = (*self._faults, fault)
        self._changed()

    # --- faces' business ----------------------------------------------------------------------------------------------

    def take_faults(self, *names: str) -> tuple[Fault, ...]:
        """Return what goes wrong with a call of an operation, by its names, that begins now; each fault counts down."""
        met, left = take(self._faults, *names)
        if met:
            self._faults = left
            self._changed()
        return met

    async def notices(self) -> AsyncIterator[Interruption]:
        """Yield notices in order, for one reader; a notice is forgotten once the reader asks for the next."""
        while True:
            since = self._clock.now() - NOTICES_KEPT_S
            self._notices = tuple(notice for notice in self._notices if notice.noticed_at >= since)
            if not self._notices:
                self._notice_box.take()
                await self._notice_box.wait(None)
                continue
            notice = self._notices[0]
            yield notice
            self._notices = tuple(other for other in self._notices if other is not notice)
            self._changed()

    def dump(self) -> dict[str, Any]:
        """Return all that must survive a restart: storage key to plain JSON value; see `state.read_state`."""
        return {STATE_KEY: self._plain_state(), **{one.id: plain(one) for one in self._instances.values()}}

    def _plain_state(self) -> object:
        return plain(
            MarketState(
                seed=self._seed,
                started_at=self._started_at,
                launches=self._launches,
                image_generation=self._image_generation,
                capacity=self._capacity,
                reservations=self._reservations,
                faults=self._faults,
                notices=self._notices,
            )
        )

    def _set_capacity(self, capacity: Capacity) -> None:
        self._capacity = capacity
        self._changed()

    def _put(self, instance: MarketInstance) -> None:
        self._instances[instance.id] = instance
        self._by_token[instance.token] = instance.id
        for mailbox in self._mailboxes:
            mailbox.post([instance.id])
        self._changed(instance)

    def _forget(self, now: UnixSeconds) -> None:
        old = [one for one in self._instances.values() if one.gone_at is not None and one.gone_at + KEPT_S < now]
        for instance in old:
            del self._instances[instance.id]
            if self._by_token.get(instance.token) == instance.id:
                del self._by_token[instance.token]
        if old and self._on_change is not None:
            self._on_change(dict.fromkeys((instance.id for instance in old), None))

    def _changed(self, instance: MarketInstance | None = None) -> None:
        if self._on_change is not None:
            changed = {} if instance is None else {instance.id: plain(instance)}
            self._on_change({STATE_KEY: self._plain_state(), **changed})
