"""What each pool of the input could launch, and what every machine costs: asked of a simulated cloud that just opened.

It is the demo's cloud. So the same selectors, images and prices count, and the same words say what a pool lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from karpenter.app.manifests.objects import Identity, Objects
from karpenter.app.manifests.problems import InputError, Problem
from karpenter.cloud.unavailable import OfferingKey
from karpenter.model import labels
from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.model.aws.settings import AwsSettings
from karpenter.model.catalog import load_catalog
from karpenter.model.errors import FieldError
from karpenter.model.nodepool import NodeClassRef, NodePool
from karpenter.model.units import ObjectKey
from karpenter.runtime.clock import Clock
from karpenter.sim.cloud import open_cloud
from karpenter.sim.market.state import MarketSettings
from karpenter.state.offers import Offers, load_offers

Price: TypeAlias = Callable[[OfferingKey], float | None]
"""USD per hour of an offering; None when it is not sold."""


@dataclass(frozen=True, slots=True)
class Quote:
    """The cloud's answer."""

    offers: Offers
    price: Price


async def ask_cloud(
    objects: Objects, clock: Clock, *, aws: AwsSettings, catalog: Path | None = None, seed: int = 0
) -> Quote:
    """Return what the pools of the input can launch at the prices with which the market of that seed opens.

    With a catalogue every pool gets all of its types, as given, and no node class is asked for.

    Raises:
        InputError: a pool's node class is not in the input.
        ManifestError: the catalogue cannot be read.
    """
    pools = {pool.key: pool for pool in objects.of(NodePool)}
    classes = {(each.origin.kind, each.name): each for each in objects.of(AwsNodeClass)}
    if catalog is None:
        _check_references(pools.values(), classes, objects)
    cloud = open_cloud(
        clock,
        node_class=lambda reference: classes.get((reference.kind, reference.name)),
        pool=pools.get,
        settings=MarketSettings(seed=seed),
        aws=aws,
        catalog=None if catalog is None else load_catalog(catalog),
    )
    return Quote(await load_offers(cloud, pools.values(), cloud.well_known), cloud.market.price)


def _check_references(
    pools: Iterable[NodePool], classes: Mapping[tuple[str, str], AwsNodeClass], objects: Objects
) -> None:
    problems = tuple(_missing(pools, classes, objects))
    if problems:
        raise InputError(problems)


def _missing(
    pools: Iterable[NodePool], classes: Mapping[tuple[str, str], AwsNodeClass], objects: Objects
) -> Iterator[Problem]:
    for pool in pools:
        reference = pool.template.node_class_ref
        if reference is not None and (reference.kind, reference.name) not in classes:
            identity = Identity(labels.GROUP, pool.origin.kind, ObjectKey("", pool.name))
            yield Problem(objects.places[identity], str(pool.key), _reference_error(pool, reference))


def _reference_error(pool: NodePool, reference: NodeClassRef) -> FieldError:
    path = "spec.providerRef.name" if pool.origin.kind == "Provisioner" else "spec.template.spec.nodeClassRef.name"
    reason = f"{reference.kind} {reference.name!r} is not in the input"
    return FieldError(path, reason, "add its manifest, or give instance types with --catalog")
