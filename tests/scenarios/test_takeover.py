"""A cluster changes from Provisioners to NodePools while it runs (spec v1 §7)."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from karpenter.app.cli import main
from karpenter.model import labels
from karpenter.model.convert import Profile, convert
from karpenter.runtime import kube as api
from karpenter.runtime.clock import LoopClock
from tests.scenarios.world import NODE_TEMPLATE, PROVISIONER, World, a_world


async def _pools_of(world: World) -> set[tuple[str, str]]:
    return {(pool.kind, pool.name) for claim in world.state.claims.values() if (pool := claim.pool) is not None}


async def _homes(world: World) -> dict[str, str]:
    return {pod.metadata.uid: pod.spec.node_name for pod in await world.pods()}


async def _old_manifests(world: World) -> dict[str, Any]:
    """Return what `kubectl get provisioners,awsnodetemplates -o json` prints: the objects as the cluster keeps them."""
    kinds = (api.PROVISIONERS, api.AWS_NODE_TEMPLATES)
    items = [item for kind in kinds for item in (await world.kube.list(kind)).items]
    return {"apiVersion": "v1", "kind": "List", "items": items}


async def test_with_convert_nodes_go_over_to_their_nodepool_and_no_pod_moves(
    clock: LoopClock, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Spec v1 §7, through the command, from what the cluster holds."""
    async with a_world(clock) as world:
        await world.apply(PROVISIONER, NODE_TEMPLATE)
        await world.deploy("web", 12)
        await world.all_running(12)
        homes, instances = await _homes(world), {instance.id for instance in world.instances()}

        old = tmp_path / "old.json"
        old.write_text(json.dumps(await _old_manifests(world)))
        assert main(["convert", "-f", str(old), "--role", "nodes"]) == 0
        await world.apply(*yaml.safe_load_all(capsys.readouterr().out))

        async def handed_over() -> bool:
            return await _pools_of(world) == {("NodePool", "default")}

        await world.until(handed_over)
        await world.kube.delete(api.PROVISIONERS, "default")
        await clock.sleep(600)
        assert await _homes(world) == homes
        assert {instance.id for instance in world.instances()} == instances
        assert all(labels.PROVISIONER not in node.metadata.labels for node in await world.nodes())
        assert {node.metadata.labels[labels.NODEPOOL] for node in await world.nodes()} == {"default"}

        # The pool launches more, and gives everything back in its own time.
        await world.scale("web", 60)
        await world.all_running(60)
        await world.scale("web", 0)
        await world.nothing_left()


async def test_a_node_that_the_new_pool_would_not_launch_stays_with_its_provisioner(clock: LoopClock) -> None:
    async with a_world(clock) as world:
        await world.apply(PROVISIONER, NODE_TEMPLATE)
        await world.deploy("web", 3)
        await world.all_running(3)
        manifests: list[Any] = list(convert([PROVISIONER], [NODE_TEMPLATE], profile=Profile(role="nodes")).manifests)
        manifests[-1]["spec"]["template"]["spec"]["taints"] = [{"key": "other", "effect": "NoSchedule"}]
        await world.apply(*manifests)
        await clock.sleep(60)
        assert await _pools_of(world) == {("Provisioner", "default")}
        assert "has other taints" in (await world.events("NotAdopted"))[0]["message"]
