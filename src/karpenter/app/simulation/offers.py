"""What each pool of the input could launch, and what every machine costs: from a file, or from the simulated market."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from karpenter.app.manifests.objects import Identity, Objects
from karpenter.app.manifests.problems import InputError, Problem
from karpenter.app.simulation.world import PriceBook
from karpenter.cloud.unavailable import OfferingKey
from karpenter.model import labels
from karpenter.model.aws.allocatable import Build
from karpenter.model.aws.catalog import InstanceTypeRecord, load_aws_catalog
from karpenter.model.aws.instancetypes import InstanceTypeCache
from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.model.aws.nodetemplate import inline_node_class
from karpenter.model.aws.settings import AwsSettings
from karpenter.model.catalog import load_catalog
from karpenter.model.errors import FieldError
from karpenter.model.instancetype import InstanceType, Offering
from karpenter.model.nodepool import NodePool
from karpenter.model.units import ObjectKey, PoolKey
from karpenter.sim.market.prices import Ec2Prices
from karpenter.state.offers import Offers

REGION: Final = "us-west-2"
_MARKET_START: Final = 0


def offers_for(objects: Objects, settings: AwsSettings, *, catalog: Path | None, seed: int) -> tuple[Offers, PriceBook]:
    """Return the instance types of every pool and the price of every offering there is.

    With a catalogue every pool gets all of its types, as given, and no node class is asked for. Without one, types are
    those of AWS, built as the pool's node class says, at the prices with which the market of that seed opens.

    Raises:
        InputError: a pool's node class is not in the input.
        ManifestError: the catalogue cannot be read.
    """
    pools = objects.of(NodePool)
    if catalog is not None:
        types = load_catalog(catalog)
        offers = Offers({pool.key: types.instance_types for pool in pools}, well_known=types.well_known)
        return offers, {
            key: price for each in types.instance_types for key, price in _prices(each.name, each.offerings)
        }
    market = _Market(settings, seed)
    classes = _node_classes(objects, pools)
    by_pool = {pool.key: market.types(Build.of(classes[pool.key], pool.kubelet)) for pool in pools}
    return Offers(by_pool), market.price_book()


class _Market:
    """Real instance types at the prices with which a market opens."""

    def __init__(self, settings: AwsSettings, seed: int) -> None:
        self._catalog = load_aws_catalog()
        self._prices = Ec2Prices(self._catalog, REGION, seed=seed)
        self._cache = InstanceTypeCache(REGION, settings)

    def types(self, build: Build) -> tuple[InstanceType, ...]:
        return self._cache.resolve(self._catalog.in_region(REGION), self._offerings, build)

    def price_book(self) -> PriceBook:
        """Return what every offering costs."""
        priced = ((record.name, self._offerings(record)) for record in self._catalog.in_region(REGION))
        return {key: price for name, offerings in priced for key, price in _prices(name, offerings) if price}

    def _offerings(self, record: InstanceTypeRecord) -> tuple[Offering, ...]:
        """AWS-11: every zone in every way it is sold; what has no price is not available."""
        priced = (
            (zone, kind, self._prices.price(OfferingKey(record.name, zone, kind), _MARKET_START))
            for zone in record.zones(REGION)
            for kind in record.usage_classes
        )
        return tuple(Offering(zone, kind, price or 0.0, available=price is not None) for zone, kind, price in priced)


def _node_classes(objects: Objects, pools: Iterable[NodePool]) -> Mapping[PoolKey, AwsNodeClass]:
    known = {(each.origin.kind, each.name): each for each in objects.of(AwsNodeClass)}
    found: dict[PoolKey, AwsNodeClass] = {}
    problems: list[Problem] = []
    for pool in pools:
        reference = pool.template.node_class_ref
        node_class = inline_node_class(pool) if reference is None else known.get((reference.kind, reference.name))
        if node_class is None:
            problems.append(_missing(pool, objects))
        else:
            found[pool.key] = node_class
    if problems:
        raise InputError(problems)
    return found


def _missing(pool: NodePool, objects: Objects) -> Problem:
    reference = pool.template.node_class_ref
    assert reference is not None, "a pool without a reference has its node class inline"
    identity = Identity(labels.GROUP, pool.origin.kind, ObjectKey("", pool.name))
    path = "spec.providerRef.name" if pool.origin.kind == "Provisioner" else "spec.template.spec.nodeClassRef.name"
    error = FieldError(
        path,
        f"{reference.kind} {reference.name!r} is not in the input",
        "add its manifest, or give instance types with --catalog",
    )
    return Problem(objects.places.get(identity, ""), str(pool.key), error)


def _prices(name: str, offerings: Iterable[Offering]) -> Iterator[tuple[OfferingKey, float]]:
    for offering in offerings:
        yield OfferingKey(name, offering.zone, offering.capacity_type), offering.price
