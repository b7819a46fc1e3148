"""Manifests with every field of today's API are planned for and run (spec v1 §1.4, §1.5, §1.8)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from karpenter.app.cli import main
from karpenter.model import labels
from karpenter.runtime import kube as api
from karpenter.runtime.clock import LoopClock
from tests.model.crds.test_crds import fields, spec_schema
from tests.scenarios.world import DEPLOYMENTS, a_world

FOLDER = Path(__file__).parent.parent / "data" / "v1"


def manifests(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((FOLDER / f"{name}.yaml").read_text(encoding="utf-8")))


def stated(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the path of everything in a manifest, as `fields` spells those of a schema."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from stated(inner, (*path, key))
    elif isinstance(value, list):
        for inner in value:
            yield from stated(inner, (*path, "[]"))


@pytest.mark.parametrize(
    "kind, file, never",
    [
        ("NodePool", "pools", set()),
        ("NodeClaim", "claim", set()),
        # These go in place of others: a profile of a role, an alias of all other terms, an id of a name.
        (
            "EC2NodeClass",
            "nodeclass",
            {("instanceProfile",), ("amiSelectorTerms", "[]", "alias"), ("placementGroupSelector", "id")},
        ),
    ],
)
def test_no_field_is_left_out(kind: str, file: str, never: set[tuple[str, ...]]) -> None:
    there = {path for manifest in manifests(file) for path in stated(manifest["spec"])}
    assert {path for path, _ in fields(spec_schema(kind))} - there == never


def test_they_are_planned_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "-f", str(FOLDER), "-o", "json", "--strict"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert len(answer["placements"]) == 5
    assert {node["pool"]["name"] for node in answer["newNodes"]} == {"every-field"}


async def test_they_run(clock: LoopClock) -> None:
    async with a_world(clock) as world:
        await world.apply(*manifests("nodeclass"), *manifests("pools"))
        await world.kube.create(api.NODE_CLAIMS, manifests("claim")[0])
        (shop,) = manifests("workload")
        await world.kube.create(DEPLOYMENTS, shop, namespace="default")
        await world.all_running(5)

        async def initialized() -> bool:
            marks = [node.metadata.labels.get(labels.INITIALIZED) for node in await world.nodes()]
            return len(marks) >= 2 and set(marks) == {"true"}

        await world.until(initialized)
        pools = {node.metadata.labels.get(labels.NODEPOOL) for node in await world.nodes()}
        assert pools == {"every-field", None}
