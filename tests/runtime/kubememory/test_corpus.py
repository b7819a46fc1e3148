"""The corpus of manifests, judged by the embedded API server with our definitions: by schema, lists and CEL."""

from typing import Any

import pytest

from karpenter.model import crds, labels
from karpenter.model.errors import ManifestError
from karpenter.model.pools import decode_pool
from karpenter.runtime.kubememory import MemoryKubeClient
from tests.builders import a_node_pool, a_provisioner
from tests.corpora import CASES, Case, fields_refused
from tests.runtime.kubememory.api import Api


@pytest.fixture(scope="module")
def client() -> MemoryKubeClient:
    """An API with our kinds, which every case leaves as it was."""
    api = Api()
    for definition in crds.load():
        api.create(definition)
    return MemoryKubeClient(api.store)


@pytest.mark.parametrize("case", CASES, ids=str)
async def test_the_embedded_server_judges_the_corpus(client: MemoryKubeClient, case: Case) -> None:
    assert await fields_refused(client, case) == case.server_refuses()


KEYS = sorted({*labels.WELL_KNOWN, *labels.AWS_KEYS_OF_NODEPOOL, *labels.RESTRICTED_KEYS, *labels.ALIASES})
USES = {
    "label of a Provisioner": lambda key: a_provisioner(labels={key: "a"}),
    "requirement of a Provisioner": lambda key: a_provisioner(requirements=[{"key": key, "operator": "Exists"}]),
    "label of a NodePool": lambda key: a_node_pool(template={"metadata": {"labels": {key: "a"}}}),
    "requirement of a NodePool": lambda key: a_node_pool(
        template={"requirements": [{"key": key, "operator": "Exists"}]}
    ),
}


@pytest.mark.parametrize("use", USES)
async def test_definitions_restrict_the_keys_that_codecs_restrict(client: MemoryKubeClient, use: str) -> None:
    """The keys that the definitions list are those of `model/labels.py`."""
    differing = []
    for key in KEYS:
        manifest = USES[use](key)
        if bool(await fields_refused(client, Case(key, manifest))) is not is_refused_by_codec(manifest):
            differing.append(key)
    assert differing == []


def is_refused_by_codec(manifest: dict[str, Any]) -> bool:
    try:
        decode_pool(manifest)
    except ManifestError:
        return True
    return False
