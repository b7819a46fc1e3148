"""The corpus of manifests, judged by a real API server with our definitions."""

import pytest

from karpenter.model import crds
from karpenter.runtime.kubehttp import HttpKubeClient
from tests.corpora import CASES, fields_refused
from tests.e2e.plane import ControlPlane

pytestmark = pytest.mark.real_time


@pytest.fixture(scope="module")
def served(lone_server: ControlPlane) -> None:
    lone_server.apply(*crds.load())
    lone_server.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")


async def test_the_real_server_judges_the_corpus(served: None, lone_kube: HttpKubeClient) -> None:
    wrong = []
    for case in CASES:
        fields = await fields_refused(lone_kube, case)
        if set(fields) != set(case.server_refuses()):
            wrong.append(f"{case}: refuses {fields}, expected {case.server_refuses()}")
    assert not wrong, "\n".join(wrong)
