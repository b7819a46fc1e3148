"""Which instance types there are, whether they can be had, and at what price."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from karpenter.app.measures.settings import Offered
from karpenter.model.instancetype import InstanceType
from karpenter.model.resources import CPU, MEMORY
from karpenter.model.units import PoolKey
from karpenter.runtime.instruments import refresh
from karpenter.runtime.metrics import Metrics


@dataclass(slots=True)
class Offerings:
    """The gauges of what is on offer. Ten thousand of them cost 50 ms, so they are written only when they changed."""

    metrics: Metrics
    shown: Offered
    _published: object = field(default=None, init=False)

    def publish(
        self, offered: Mapping[PoolKey, Mapping[str, InstanceType]], used: Callable[[], Collection[str]]
    ) -> None:
        """Write what pools can get; `used` are the types that nodes are made of."""
        if self.shown == "off":
            return
        names = frozenset(used()) if self.shown == "used" else None
        if self._published == (offered, names):
            return
        self._published = (dict(offered), names)
        types = {
            each.name: each
            for listed in offered.values()
            for each in listed.values()
            if names is None or each.name in names
        }
        self._write(types.values())

    def _write(self, types: Iterable[InstanceType]) -> None:
        listed, metrics = list(types), self.metrics
        places = {(each.name, offer.capacity_type, offer.zone): offer for each in listed for offer in each.offerings}
        cores = {(each.name,): each.capacity.get(CPU, 0) / 1000 for each in listed}
        refresh(metrics.cloudprovider_instance_type_cpu_cores, cores)
        memory = {(each.name,): float(each.capacity.get(MEMORY, 0)) for each in listed}
        refresh(metrics.cloudprovider_instance_type_memory_bytes, memory)
        available = {key: float(offer.available) for key, offer in places.items()}
        refresh(metrics.cloudprovider_instance_type_offering_available, available)
        prices = {key: offer.price for key, offer in places.items()}
        refresh(metrics.cloudprovider_instance_type_offering_price_estimate, prices)
