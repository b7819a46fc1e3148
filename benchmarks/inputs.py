"""Benchmark inputs: scenario files (pods, catalogue, pools) read into the solver's own values."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from karpenter.model import labels
from karpenter.model.core import Pod
from karpenter.model.instancetype import InstanceType, Offering
from karpenter.model.meta import ObjectMeta
from karpenter.model.nodepool import NodeClassRef, NodePool, Origin, PoolTemplate
from karpenter.model.requirements import Requirement, Requirements
from karpenter.model.resources import parse_resources
from karpenter.model.units import UnixSeconds
from karpenter.scheduling.snapshot import PoolView, Snapshot


@dataclass(frozen=True, slots=True)
class Scenario:
    """One thing to solve."""

    name: str
    pods: tuple[Pod, ...]
    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Instance types, and the label keys that pods may constrain."""

    types: tuple[InstanceType, ...]
    well_known: frozenset[str]


def names_in(folder: Path) -> tuple[str, ...]:
    """Return the names of all scenarios of an inputs folder."""
    return tuple(sorted(path.stem for path in (folder / "scenarios").glob("*.json")))


def load_scenario(folder: Path, name: str, catalogues: dict[str, Catalogue]) -> Scenario:
    """Read a scenario; `catalogues` remembers those read before."""
    described = json.loads((folder / "scenarios" / f"{name}.json").read_text(encoding="utf-8"))
    path = described["catalog"]
    if path not in catalogues:
        catalogues[path] = decode_catalogue(json.loads(gzip.decompress((folder / path).read_bytes())))
    pods = msgspec.json.decode(gzip.decompress((folder / described["pods"]).read_bytes()), type=tuple[Pod, ...])
    return Scenario(name, pods, snapshot_of(catalogues[path], [decode_pool(raw) for raw in described["nodePools"]]))


def snapshot_of(catalogue: Catalogue, pools: Sequence[NodePool]) -> Snapshot:
    """Return an empty cluster with these pools, all of which launch the catalogue's types."""
    return Snapshot(
        taken_at=UnixSeconds(0.0),
        pools=tuple(PoolView(pool, catalogue.types) for pool in pools),
        well_known=catalogue.well_known,
    )


def decode_catalogue(raw: Mapping[str, Any]) -> Catalogue:
    """Read a catalogue file: types with requirements, offerings, capacity and allocatable."""
    types = tuple(
        InstanceType(
            name=entry["name"],
            requirements=_requirements(entry["requirements"]),
            offerings=tuple(_offering(offering) for offering in entry["offerings"]),
            capacity=parse_resources(entry["capacity"]),
            allocatable=parse_resources(entry["allocatable"]),
        )
        for entry in raw["instanceTypes"]
    )
    return Catalogue(types, frozenset(raw["wellKnownLabels"]))


def _offering(raw: Mapping[str, Any]) -> Offering:
    place = _requirements(raw["requirements"])
    zone, capacity_type = (next(iter(place[key].values)) for key in (labels.ZONE, labels.CAPACITY_TYPE))
    return Offering(zone=zone, capacity_type=capacity_type, price=raw["price"], available=raw["available"])


def decode_pool(raw: Mapping[str, Any]) -> NodePool:
    """Read what the benchmark's pools use of a NodePool: requirements and limits."""
    name, spec = raw["metadata"]["name"], raw["spec"]
    reference = spec["template"]["spec"]["nodeClassRef"]
    return NodePool(
        metadata=ObjectMeta(name=name, uid=raw["metadata"].get("uid", "")),
        origin=Origin("karpenter.sh/v1", "NodePool", name, raw["metadata"].get("uid", "")),
        template=PoolTemplate(
            requirements=_requirements(spec["template"]["spec"]["requirements"]),
            node_class_ref=NodeClassRef(reference["group"], reference["kind"], reference["name"]),
        ),
        identity=(labels.NODEPOOL, name),
        limits=parse_resources(spec.get("limits", {})),
    )


def _requirements(raw: Sequence[Mapping[str, Any]]) -> Requirements:
    return Requirements(Requirement.of(entry["key"], entry["operator"], entry.get("values", ())) for entry in raw)
