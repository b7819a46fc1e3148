"""From pending pods to running ones and back to nothing, in virtual time: T-1, LIF-30, LIF-38, DEP-41, DEP-70."""

from karpenter.model import labels
from karpenter.runtime import kube as api
from karpenter.runtime.clock import LoopClock
from tests.scenarios.world import NODE_TEMPLATE, PROVISIONER, World, a_pod_manifest, a_world


async def scaled_up(world: World, pods: int = 40) -> None:
    await world.apply(NODE_TEMPLATE, PROVISIONER)
    await world.create_pods(*(a_pod_manifest(f"pod-{number:02}") for number in range(pods)))
    await world.all_running(pods)


async def test_pods_get_nodes_and_run_with_the_verbatim_provisioner(clock: LoopClock) -> None:
    async with a_world(clock) as world:
        await scaled_up(world)
        nodes = await world.nodes()
        assert len(nodes) == len(await world.claims()) == len(world.instances())
        for node in nodes:
            found = node.metadata.labels
            assert found[labels.INSTANCE_CATEGORY] in {"c", "m", "r"}
            assert found[labels.INSTANCE_CPU] in {"4", "8", "16", "32"}
            assert found[labels.ZONE] in {"us-west-2a", "us-west-2b"}
            assert found["billing-team"] == "my-team"
            assert found[labels.PROVISIONER] == "default"
            assert [str(taint) for taint in node.spec.taints] == ["example.com/special-taint:NoSchedule"]
            assert labels.TERMINATION_FINALIZER in node.metadata.finalizers
        provisioner = await world.kube.get(api.PROVISIONERS, "default")
        assert int(provisioner["status"]["resources"]["cpu"]) >= 40


async def test_the_claims_are_written_as_soon_as_the_batch_window_has_closed(clock: LoopClock) -> None:
    async with a_world(clock) as world:
        await world.apply(NODE_TEMPLATE, PROVISIONER)
        await clock.sleep(5)
        begun = clock.now()
        await world.create_pods(a_pod_manifest("pod"))

        async def claimed() -> bool:
            return bool(await world.claims())

        await world.until(claimed, step_s=0.01)
        assert clock.now() - begun <= 1.0 + 0.1


async def test_empty_nodes_go_when_their_ttl_has_passed_and_not_sooner(clock: LoopClock) -> None:
    async with a_world(clock) as world:
        await scaled_up(world)
        await clock.sleep(60)
        await world.delete_pods()
        begun = clock.now()
        names = {node.metadata.name for node in await world.nodes()}

        async def one_is_leaving() -> bool:
            return any(node.metadata.is_deleting for node in await world.nodes())

        await world.until(one_is_leaving, step_s=0.25)
        assert 30 <= clock.now() - begun <= 42
        assert {node.metadata.name for node in await world.nodes()} == names

        await world.nothing_left()


async def test_a_pod_that_does_not_tolerate_the_taint_stays_pending_with_an_event_that_says_so(
    clock: LoopClock,
) -> None:
    async with a_world(clock) as world:
        await world.apply(NODE_TEMPLATE, PROVISIONER)
        await world.create_pods(a_pod_manifest("intolerant", tolerations=[]))
        await clock.sleep(15)
        messages = [event["message"] for event in await world.events("FailedScheduling")]
        assert any("example.com/special-taint" in message and "Provisioner default" in message for message in messages)
        fix = "fix: let it tolerate example.com/special-taint:NoSchedule, the taint of Provisioner default"
        assert any(message.endswith(fix) for message in messages)
        assert await world.claims() == []


async def test_a_pod_that_stays_pending_is_told_once_in_five_minutes(clock: LoopClock) -> None:
    async with a_world(clock) as world:
        await world.apply(NODE_TEMPLATE, PROVISIONER)
        await world.create_pods(a_pod_manifest("intolerant", tolerations=[]))
        await clock.sleep(290)
        (event,) = [each for each in await world.events("FailedScheduling") if "fix: " in each["message"]]
        assert event.get("count", 1) == 1
        await clock.sleep(60)
        assert [each["count"] for each in await world.events("FailedScheduling") if "fix: " in each["message"]] == [2]


async def test_deleting_a_node_drains_it_and_its_pods_run_again_elsewhere(clock: LoopClock) -> None:
    async with a_world(clock) as world:
        await scaled_up(world, pods=3)
        (node,) = await world.nodes()
        await world.kube.delete(api.NODES, node.metadata.name)

        async def gone() -> bool:
            return node.metadata.name not in {one.metadata.name for one in await world.nodes()}

        await world.until(gone)
        assert await world.events("Evicted")
        assert [instance for instance in world.instances() if instance.provider_id == node.spec.provider_id] == []


async def test_a_claim_deleted_by_hand_takes_its_node_and_instance_along(clock: LoopClock) -> None:
    async with a_world(clock) as world:
        await scaled_up(world, pods=3)
        (claim,) = await world.claims()
        await world.kube.delete(api.NODE_CLAIMS, claim["metadata"]["name"])

        async def gone() -> bool:
            return not (await world.claims() or world.instances())

        await world.until(gone)
        assert await world.nodes() == []


async def test_a_deployment_scaled_to_zero_gives_its_nodes_back_and_scaled_up_gets_new_ones(clock: LoopClock) -> None:
    async with a_world(clock) as world:
        await world.apply(NODE_TEMPLATE, PROVISIONER)
        await world.deploy("web", 40)
        await world.all_running(40)
        await world.scale("web", 0)
        await world.nothing_left()
        await world.scale("web", 5)
        await world.all_running(5)


async def test_tv129_deleting_the_provisioner_drains_and_removes_all_its_nodes(clock: LoopClock) -> None:
    async with a_world(clock) as world:
        await world.apply(NODE_TEMPLATE, PROVISIONER)
        await world.deploy("web", 20)
        await world.all_running(20)
        await world.kube.delete(api.PROVISIONERS, "default")
        await world.nothing_left()
        assert {pod.status.phase for pod in await world.pods()} == {"Pending"}
        assert len(await world.events("Evicted")) == 20


async def test_a_pdb_sets_the_pace_of_a_drain_and_is_never_violated(clock: LoopClock) -> None:
    async with a_world(clock) as world:
        await world.apply(NODE_TEMPLATE, PROVISIONER)
        await world.deploy("web", 6)
        await world.all_running(6)
        budget = {"selector": {"matchLabels": {"app": "web"}}, "minAvailable": 5}
        manifest = {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "web"},
            "spec": budget,
        }
        await world.kube.create(api.PDBS, manifest, namespace="default")
        await clock.sleep(2)
        drained = {node.metadata.name for node in await world.nodes()}
        for name in drained:
            await world.kube.delete(api.NODES, name)
        fewest = 6

        async def moved() -> bool:
            nonlocal fewest
            fewest = min(fewest, await world.running())
            return not drained & {node.metadata.name for node in await world.nodes()}

        await world.until(moved, within_s=900, step_s=0.1)
        await world.all_running(6)
        assert fewest >= 5
