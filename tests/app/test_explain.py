"""`karpenter explain node`: why it stays, since when, at what price. Issue 6, point 11."""

import json
from pathlib import Path
from typing import Any

import pytest

from karpenter.app.cli import main
from karpenter.app.manifests.kept import pauses_in
from karpenter.app.manifests.live import read_cluster
from karpenter.disruption.records import CommandRecord, encode_record
from karpenter.model.core import ConfigMap, Node
from karpenter.model.nodeclaim import NodeClaim
from karpenter.model.pause import Pauses
from karpenter.runtime.clock import LoopClock
from karpenter.runtime.kube import CONFIG_MAPS
from tests.app.simulation.test_disrupt import NOW, READY, a_bound_pod, a_claim, a_pool_node
from tests.app.simulation.test_simulate import POOL
from tests.app.toys import CATALOG
from tests.scenarios.world import NODE_TEMPLATE, PROVISIONER, a_world

PROTECTED = {"karpenter.sh/do-not-disrupt": "true"}
DRIFT = {"type": "Drifted", "status": "True", "reason": "AMIDrift", "lastTransitionTime": "2026-11-30T12:05:00Z"}


class Asker:
    """A dump on disk, and `explain node` asked about it."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._folder = folder
        self._capsys = capsys
        (folder / "catalog.json").write_text(json.dumps(CATALOG))

    def ask(self, name: str, *manifests: Any, flags: tuple[str, ...] = ()) -> tuple[int, str, str]:
        (self._folder / "dump.json").write_text(json.dumps(manifests))
        where = ("-f", str(self._folder / "dump.json"), "--catalog", str(self._folder / "catalog.json"))
        status = main(["explain", "node", name, *where, "--now", NOW, *flags])
        captured = self._capsys.readouterr()
        return status, captured.out, captured.err

    def data(self, name: str, *manifests: Any) -> Any:
        status, out, err = self.ask(name, *manifests, flags=("-o", "json"))
        assert (status, err) == (0, "")
        return json.loads(out)


@pytest.fixture
def asker(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Asker:
    return Asker(tmp_path, capsys)


def a_config_map(name: str, **data: str) -> Any:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "kube-system"},
        "data": data,
    }


def drifted(name: str = "n", **metadata: Any) -> list[Any]:
    claim = a_claim(f"claim-{name}", name, *READY)
    claim["status"]["conditions"].append(DRIFT)
    claim["metadata"] |= metadata
    return [POOL, a_pool_node(name, spec={"providerID": f"sim:///{name}"}), claim]


def test_a_protected_pod_is_named_with_since_when_and_at_what_price(asker: Asker) -> None:
    pod = a_bound_pod("db-0", "n", annotations=PROTECTED, creationTimestamp="2026-11-30T10:28:00Z")
    status, out, _ = asker.ask("n", *drifted(), pod)
    assert status == 0
    assert out.splitlines()[:5] == [
        "Node n stays: pod shop/db-0 says karpenter.sh/do-not-disrupt: true",
        "  code   DoNotDisrupt (it would go as Drifted)",
        "  since  2026-11-30T10:28:00Z, 2h2m ago",
        "  costs  $0.2000 an hour (medium, a, on-demand, NodePool toy)",
        "  pods   1, of which 1 would have to move",
    ]


def test_the_json_answer_lists_every_reason_the_strongest_first(asker: Asker) -> None:
    answer = asker.data("n", *drifted(), a_bound_pod("db-0", "n", annotations=PROTECTED))
    assert (answer["name"], answer["pricePerHour"], answer["pods"]) == ("n", 0.2, ["shop/db-0"])
    assert (answer["stays"][0]["code"], answer["stays"][0]["reason"]) == ("DoNotDisrupt", "Drifted")


def test_the_name_of_its_claim_will_do(asker: Asker) -> None:
    assert asker.data("claim-n", *drifted())["name"] == "n"


def test_a_node_that_goes_next_says_so(asker: Asker) -> None:
    _, out, _ = asker.ask("n", *drifted())
    assert out.startswith("Node n is about to go: it goes next: Drifted\n")


def test_a_node_that_is_being_replaced_says_what_it_waits_for(asker: Asker) -> None:
    record = CommandRecord(
        id="0a", reason="Drifted", claims=("claim-n",), replacements=("toy-0a-0",), started_at=1_796_041_500.0
    )
    node = drifted(annotations={"karpenter.sh/disruption-command": encode_record(record)})
    stay = asker.data("n", *node, a_bound_pod("web-0", "n"))["stays"][0]
    assert (stay["code"], stay["since"]) == ("Leaving", "2026-11-30T12:25:00Z")
    assert "toy-0a-0" in stay["message"]


def test_a_stuck_drain_names_what_it_waits_for(asker: Asker) -> None:
    manifests = drifted(deletionTimestamp="2026-11-30T12:10:00Z")
    words = "1 pod is waiting to be evicted: shop/web-0; budget shop/keep allows none since 2026-11-30T12:11:00Z"
    manifests[2]["status"]["conditions"].append(
        {"type": "Drained", "status": "Unknown", "reason": "Draining", "message": words}
    )
    stay = asker.data("n", *manifests, a_bound_pod("web-0", "n"))["stays"][0]
    assert (stay["code"], stay["since"]) == ("Leaving", "2026-11-30T12:10:00Z")
    assert stay["message"] == f"it is leaving: {words}"


def test_an_unknown_name_is_bad_input(asker: Asker) -> None:
    status, _, err = asker.ask("nobody", *drifted())
    assert status == 2
    assert err == "karpenter: there is no node or nodeclaim 'nobody'; kubectl get nodes lists them\n"


async def test_a_live_cluster_is_read_as_a_dump_of_it_would_be(clock: LoopClock) -> None:
    async with a_world(clock) as world:
        await world.apply(PROVISIONER, NODE_TEMPLATE)
        await world.deploy("web", 3)
        await world.all_running(3)
        given = await read_cluster(world.kube, namespace="kube-system")
        nodes, claims = await world.nodes(), await world.claims()
    assert given.objects.of(Node) == tuple(nodes)
    assert [claim.name for claim in given.objects.of(NodeClaim)] == [raw["metadata"]["name"] for raw in claims]
    assert [pod.spec.node_name for pod in given.pods] == [nodes[0].metadata.name] * 3


def test_a_pause_in_the_dump_keeps_every_node(asker: Asker) -> None:
    pause = a_config_map("karpenter-pause", cluster="disruption")
    assert asker.data("n", *drifted(), pause)["stays"][0]["code"] == "Paused"


def test_a_rest_after_broken_promises_is_remembered_in_the_dump(asker: Asker) -> None:
    memory = a_config_map("karpenter-memory", consolidation=json.dumps({"rests_until": 1_796_043_600.0}))
    two = [POOL, a_pool_node("n"), a_pool_node("m"), a_bound_pod("web-0", "n", cpu="1")]
    assert asker.data("n", *two)["stays"][0]["code"] == "NextTurn"
    stay = asker.data("n", *two, memory)["stays"][0]
    assert (stay["code"], stay["until"]) == ("ChurnRail", "2026-11-30T13:00:00Z")


def test_a_memory_that_cannot_be_read_is_bad_input(asker: Asker) -> None:
    status, _, err = asker.ask("n", *drifted(), a_config_map("karpenter-memory", consolidation="[]"))
    assert status == 2
    assert err.startswith("karpenter: ConfigMap karpenter-memory: data.consolidation: ")


async def test_a_live_cluster_brings_what_its_operator_remembers(clock: LoopClock) -> None:
    async with a_world(clock) as world:
        await world.apply(PROVISIONER, NODE_TEMPLATE)
        for each in (a_config_map("karpenter-pause", cluster="disruption"), a_config_map("somebody-elses")):
            await world.kube.create(CONFIG_MAPS, each, namespace="kube-system")
        given = await read_cluster(world.kube, namespace="kube-system")
    assert pauses_in(given) == Pauses(cluster="disruption")
    assert [found.metadata.name for found in given.objects.of(ConfigMap)] == ["karpenter-pause"]
