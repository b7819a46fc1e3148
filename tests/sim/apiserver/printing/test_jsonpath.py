"""The JSONPath of printer columns."""

import pytest

from karpenter.sim.apiserver.printing.jsonpath import find

TREE = {
    "metadata": {"labels": {"karpenter.sh/nodepool": "default"}},
    "spec": {"sizes": [1, 2], "items": [{"name": "a"}, {"name": "b"}]},
    "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Drifted", "status": "False"}]},
}


@pytest.mark.parametrize(
    "path, found",
    [
        (".spec.sizes", [[1, 2]]),
        ("spec.sizes", [[1, 2]]),
        ("{.spec.sizes}", [[1, 2]]),
        (r".metadata.labels.karpenter\.sh/nodepool", ["default"]),
        (".metadata.labels['karpenter.sh/nodepool']", ["default"]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type == 'Drifted')].status", ["False"]),
        ('.status.conditions[?(@.type=="Other")].status', []),
        (".spec.sizes[0]", [1]),
        (".spec.sizes[-1]", [2]),
        (".spec.sizes[7]", []),
        (".spec.items[*].name", ["a", "b"]),
        (".spec.sizes[*]", [1, 2]),
        (".spec.missing.name", []),
        (".spec.sizes.name", []),
        (".spec[", []),
    ],
)
def test_a_path_finds(path, found) -> None:
    assert find(TREE, path) == found
