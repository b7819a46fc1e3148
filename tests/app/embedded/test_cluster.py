"""The demo's cluster in virtual time: what it launches is what simulate says, and a restart goes on where it was."""

import asyncio
import contextlib
import io
import json
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from karpenter.app.embedded.api import EmbeddedApi
from karpenter.app.embedded.cluster import ClusterOptions, EmbeddedCluster
from karpenter.app.embedded.sample import apply_sample, sample_manifests
from karpenter.app.embedded.settled import wait_settled
from karpenter.app.errors import BadInputError
from karpenter.app.manifests.load import load
from karpenter.app.settings import Settings
from karpenter.app.simulation.offers import ask_cloud
from karpenter.app.simulation.world import snapshot_of
from karpenter.model.aws.settings import DEFAULT_SETTINGS
from karpenter.model.catalog import decode_catalog
from karpenter.runtime import kube as api
from karpenter.runtime.clock import Clock, LoopClock
from karpenter.scheduling import Demand, Options, solve
from tests.app.toys import CATALOG

Machines = Counter[tuple[str, str, str]]

EXAMPLES = Path(__file__).parents[3] / "examples"
DEPLOYMENTS = api.Resource("apps", "v1", "deployments", "Deployment", dict, namespaced=True)


@contextlib.asynccontextmanager
async def running(
    clock: Clock, data: Path | None = None, *, settings: Settings | None = None, **options: Any
) -> AsyncIterator[EmbeddedCluster]:
    served = EmbeddedApi(clock, data)
    cluster = EmbeddedCluster(served, settings=settings or Settings(), options=ClusterOptions(**options))
    task = asyncio.create_task(cluster.run())
    try:
        await cluster.wait_ready()
        yield cluster
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        cluster.close()
        served.close()


async def apply(cluster: EmbeddedCluster, manifests: Sequence[dict[str, Any]]) -> None:
    resources = {each.kind: each for each in (api.PROVISIONERS, api.AWS_NODE_TEMPLATES, DEPLOYMENTS)}
    for manifest in manifests:
        resource = resources[manifest["kind"]]
        await cluster.client.create(resource, manifest, namespace="default" if resource.namespaced else "")


async def launched(cluster: EmbeddedCluster, clock: LoopClock) -> Machines:
    """Return what the first batch became, once the cloud has answered all its launches.

    kube-scheduler binds as it likes: where it tears a tight plan apart, a later batch may add a machine.
    """
    market = cluster.assembly.cloud.market
    async with asyncio.timeout(30):
        while not market.instances():
            await clock.sleep(0.05)
    await clock.sleep(0.2)
    return Counter(tuple(instance.offering) for instance in market.instances())


async def planned(manifests: Sequence[dict[str, Any]], clock: LoopClock, seed: int) -> Machines:
    given = load(["-"], "compat", stdin=io.BytesIO(json.dumps(list(manifests)).encode()))
    quote = await ask_cloud(given.objects, clock, aws=DEFAULT_SETTINGS, seed=seed)
    snapshot = snapshot_of(given, quote, now=clock.now())
    solution = solve(snapshot, Demand.each(snapshot.pending), Options())
    return Counter((plan.instance_type, plan.zone, plan.capacity_type) for plan in solution.new_claims)


@pytest.mark.parametrize("seed", [0, 7, 9])
async def test_one_batch_launches_what_simulate_says_for_the_same_seed(clock: LoopClock, seed: int) -> None:
    files = [*sorted(EXAMPLES.glob("*.yaml"))]
    manifests = [document for file in files for document in yaml.safe_load_all(file.read_text())]
    manifests = [each for each in manifests if each["metadata"]["name"] != "train"]  # which finds no place
    async with running(clock, seed=seed) as cluster:
        await apply(cluster, manifests)
        assert await launched(cluster, clock) == await planned(manifests, clock, seed)


async def test_the_sample_runs_and_its_nodes_go_after_it(clock: LoopClock) -> None:
    async with running(clock) as cluster:
        await apply_sample(cluster.client)
        assert await wait_settled(cluster.assembly.operator.state, clock)
        assert Counter(pod.status.phase for pod in (await cluster.client.list(api.PODS)).items) == {"Running": 10}
        await cluster.client.patch(DEPLOYMENTS, "sample", {"spec": {"replicas": 0}}, namespace="default")
        await clock.sleep(90)
        assert (await cluster.client.list(api.NODES)).items == cluster.assembly.cloud.market.instances() == ()


async def test_the_sample_runs_on_a_catalogue_of_ones_own(clock: LoopClock) -> None:
    catalog = decode_catalog(json.dumps(CATALOG).encode(), subject="toy")
    async with running(clock, catalog=catalog) as cluster:
        await apply_sample(cluster.client, custom_catalog=True)
        assert await wait_settled(cluster.assembly.operator.state, clock)
        types = {instance.offering.instance_type for instance in cluster.assembly.cloud.market.instances()}
        assert types <= {"small", "medium", "large"}
        assert Counter(pod.status.phase for pod in (await cluster.client.list(api.PODS)).items) == {"Running": 10}


async def test_applying_the_sample_again_changes_nothing(clock: LoopClock) -> None:
    async with running(clock) as cluster:
        await apply_sample(cluster.client)
        await cluster.client.patch(DEPLOYMENTS, "sample", {"spec": {"replicas": 3}}, namespace="default")
        await apply_sample(cluster.client)
        stored = await cluster.client.get(DEPLOYMENTS, "sample", namespace="default")
        assert stored["spec"]["replicas"] == 3


async def test_with_the_same_data_cluster_and_cloud_go_on_where_they_were(clock: LoopClock, tmp_path: Path) -> None:
    async with running(clock, data=tmp_path, seed=3) as cluster:
        await apply_sample(cluster.client)
        await clock.sleep(4)  # machines are on their way
        before = cluster.assembly.cloud.market.instances()
        assert before
    async with running(clock, data=tmp_path) as cluster:
        assert await wait_settled(cluster.assembly.operator.state, clock)
        assert {each.id for each in cluster.assembly.cloud.market.instances()} == {each.id for each in before}
        assert Counter(pod.status.phase for pod in (await cluster.client.list(api.PODS)).items) == {"Running": 10}


async def test_data_that_another_demo_uses_is_refused(clock: LoopClock, tmp_path: Path) -> None:
    async with running(clock, data=tmp_path):
        with pytest.raises(BadInputError, match=r"^--data: .*is another process using it\?"):
            EmbeddedApi(clock, tmp_path)


async def test_a_broken_pool_is_refused_on_its_way_in(clock: LoopClock) -> None:
    _, pool, _ = sample_manifests()
    async with running(clock) as cluster:
        with pytest.raises(api.Invalid, match="must not be negative"):
            await apply(cluster, [{**pool, "spec": {**pool["spec"], "ttlSecondsAfterEmpty": -1}}])
