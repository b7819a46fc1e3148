"""What takes nodes away, on a real control plane: the acceptance list of issue 6, with kubectl."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.karpenter import Karpenter, Raw, until
from tests.e2e.plane import ControlPlane
from tests.e2e.test_run import TEMPLATE, a_deployment

pytestmark = pytest.mark.timeout(300)

REQUEST = "simulated-cloud/request"
PLACE = {"key": "karpenter.k8s.aws/instance-cpu", "operator": "In", "values": ["2"]}


@pytest.fixture(scope="module")
def karpenter(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Karpenter]:
    """The process, and a node template."""
    with Karpenter.running(plane, tmp_path_factory.mktemp("disruption")) as running:
        plane.apply(TEMPLATE)
        yield running
        plane.kubectl("delete", "awsnodetemplate", "story")


class Fleet:
    """A Provisioner of machines for one pod each, and its pods."""

    def __init__(self, karpenter: Karpenter, name: str) -> None:
        self.karpenter = karpenter
        self.name = name

    def start(self, pods: int, *requirements: Raw, annotations: dict[str, str] | None = None, **spec: Any) -> set[str]:
        """Run so many pods, each on a node of its own; return the nodes' names."""
        provisioner = {
            "apiVersion": "karpenter.sh/v1alpha5",
            "kind": "Provisioner",
            "metadata": {"name": self.name},
            "spec": {"providerRef": {"name": "story"}, "requirements": [PLACE, *requirements], **spec},
        }
        deployment = a_deployment(self.name, pods)
        pod = deployment["spec"]["template"]
        pod["metadata"]["annotations"] = annotations or {}
        pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "1100m"
        self.karpenter.plane.apply(provisioner, deployment)
        until(lambda: self.is_whole(pods), f"{pods} pods running")
        return self.nodes()

    def nodes(self) -> set[str]:
        return {node["metadata"]["name"] for node in self.karpenter.nodes(self.name)}

    def leaving(self) -> set[str]:
        nodes = self.karpenter.nodes(self.name)
        return {node["metadata"]["name"] for node in nodes if "deletionTimestamp" in node["metadata"]}

    def is_whole(self, pods: int) -> bool:
        return len(self.karpenter.running_pods(self.name)) == pods

    def patch(self, spec: Raw) -> None:
        patch = json.dumps({"spec": spec})
        self.karpenter.plane.kubectl("patch", "provisioner", self.name, "--type=merge", f"--patch={patch}")

    def drift_reasons(self) -> set[str]:
        claims = self.karpenter.objects("nodeclaims")
        conditions = [one for claim in claims for one in claim["status"].get("conditions", ())]
        return {one["reason"] for one in conditions if one["type"] == "Drifted" and one["status"] == "True"}

    def rolled(self, old: set[str], pods: int) -> int:
        """Wait until none of the old nodes is left; return how many were leaving at once at most."""
        most = 0

        def is_over() -> bool:
            nonlocal most
            most = max(most, len(self.leaving()))
            return not self.nodes() & old and self.is_whole(pods)

        until(is_over, "the old nodes replaced", within_s=200)
        return most


@pytest.fixture
def fleet(karpenter: Karpenter, namespace: str) -> Iterator[Fleet]:
    yield Fleet(karpenter, namespace)
    karpenter.plane.kubectl("delete", "deployments", "--all", f"--namespace={namespace}")
    karpenter.give_back("provisioner", namespace)


def command(karpenter: Karpenter, *words: str) -> str:
    """Run one of our commands against the cluster; return what it prints."""
    whole = [sys.executable, "-m", "karpenter", *words, f"--kubeconfig={karpenter.plane.kubeconfig()}"]
    return subprocess.run(whole, capture_output=True, text=True, check=True).stdout


def test_a_changed_template_drifts_the_nodes_which_go_one_at_a_time(fleet: Fleet) -> None:
    old = fleet.start(2)
    fleet.patch({"labels": {"team": "b"}})
    until(lambda: "ProvisionerDrifted" in fleet.drift_reasons(), "the condition Drifted")
    assert fleet.rolled(old, 2) <= 1


def test_a_spot_notice_replaces_the_node_before_it_dies(fleet: Fleet) -> None:
    (old,) = fleet.start(1, {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]})
    fleet.karpenter.plane.kubectl("annotate", "node", old, f"{REQUEST}=interrupt")

    def is_replaced() -> bool:
        assert fleet.karpenter.running_pods(fleet.name) or fleet.leaving(), "the pod went before its node had to"
        return bool(fleet.nodes() - {old})

    until(is_replaced, "the replacement", within_s=90)
    assert fleet.rolled({old}, 1) <= 1


def test_a_protected_pod_keeps_its_drifted_node_and_explain_says_so(fleet: Fleet) -> None:
    (old,) = fleet.start(1, annotations={"karpenter.sh/do-not-evict": "true"})
    fleet.patch({"labels": {"team": "b"}})
    until(fleet.drift_reasons, "the condition Drifted")
    told = command(fleet.karpenter, "explain", "node", old)
    assert "says karpenter.sh/do-not-evict: true" in told
    assert "DoNotDisrupt (it would go as Drifted)" in told
    assert " an hour (" in told
    assert (fleet.nodes(), fleet.leaving()) == ({old}, set())


def test_a_short_life_rolls_the_fleet_and_a_pause_stops_that(fleet: Fleet) -> None:
    old = fleet.start(2)
    command(fleet.karpenter, "pause", "--disruption")
    try:
        fleet.patch({"ttlSecondsUntilExpired": 40})
        with pytest.raises(AssertionError, match="did not come true"):
            until(lambda: fleet.nodes() - old or fleet.leaving(), "a node that goes", within_s=45)
    finally:
        command(fleet.karpenter, "resume")
    most = 0

    def one_went() -> bool:
        nonlocal most
        most = max(most, len(fleet.leaving()))
        return bool(old - fleet.nodes())

    until(one_went, "an expired node gone", within_s=120)
    assert most <= 1
    fleet.patch({"ttlSecondsUntilExpired": None})
