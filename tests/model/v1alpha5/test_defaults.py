"""What a Provisioner gets when it does not speak of it (API-20, §7.1)."""

import pytest

from karpenter.model.v1alpha5 import decode_provisioner, default_provisioner
from tests.builders import a_provisioner

OS = ("kubernetes.io/os", "In", ["linux"])
ARCH = ("kubernetes.io/arch", "In", ["amd64"])
CAPACITY_TYPE = ("karpenter.sh/capacity-type", "In", ["on-demand"])
CATEGORY = ("karpenter.k8s.aws/instance-category", "In", ["c", "m", "r"])
GENERATION = ("karpenter.k8s.aws/instance-generation", "Gt", ["2"])


def added(*given: tuple[str, str, list[str]], **spec) -> list[tuple[str, str, list[str]]]:
    """Return the requirements that are appended to those given."""
    entries = [{"key": key, "operator": operator, "values": values} for key, operator, values in given]
    stored = default_provisioner(a_provisioner(requirements=entries, **spec))["spec"]["requirements"]
    assert stored[: len(entries)] == entries
    return [(entry["key"], entry["operator"], entry["values"]) for entry in stored[len(entries) :]]


def test_a_provisioner_without_requirements_gets_all_five() -> None:
    """TV-4."""
    assert added() == [OS, ARCH, CAPACITY_TYPE, CATEGORY, GENERATION]
    assert default_provisioner(a_provisioner()) == default_provisioner(a_provisioner(requirements=[]))


@pytest.mark.parametrize(
    "key",
    [
        "karpenter.k8s.aws/instance-family",
        "node.kubernetes.io/instance-type",
        "beta.kubernetes.io/instance-type",
        "karpenter.k8s.aws/instance-category",
        "karpenter.k8s.aws/instance-generation",
    ],
)
def test_who_names_types_gets_neither_category_nor_generation(key: str) -> None:
    """TV-5."""
    assert added((key, "In", ["m5"])) == [OS, ARCH, CAPACITY_TYPE]


def test_other_traits_of_types_do_not_count_as_naming_them() -> None:
    """TV-6."""
    assert added(("karpenter.k8s.aws/instance-cpu", "In", ["4"])) == [OS, ARCH, CAPACITY_TYPE, CATEGORY, GENERATION]


def test_old_spellings_of_keys_count() -> None:
    """API-20."""
    assert added(("beta.kubernetes.io/arch", "In", ["arm64"])) == [OS, CAPACITY_TYPE, CATEGORY, GENERATION]


def test_labels_do_not_keep_a_default_away() -> None:
    """TV-7, quirk 20: together they match nothing."""
    labels = {"kubernetes.io/arch": "arm64"}
    assert ARCH in added(labels=labels)
    own = decode_provisioner(a_provisioner(labels=labels))[0].node_requirements()
    assert own["kubernetes.io/arch"].operator == "DoesNotExist"


def test_nothing_else_of_the_manifest_changes_and_the_manifest_itself_does_not() -> None:
    raw = a_provisioner(weight=3)
    stored = default_provisioner(raw)
    assert "requirements" not in raw["spec"]
    assert {**stored["spec"], "requirements": None} == {**raw["spec"], "requirements": None}
    assert default_provisioner(stored) == stored


@pytest.mark.parametrize(
    "raw",
    [{}, {"spec": 1}, {"spec": {"requirements": "x"}}, {"spec": {"requirements": [1]}}, {"spec": {"requirements": {}}}],
)
def test_a_broken_manifest_comes_back_as_it_is(raw: dict) -> None:
    assert default_provisioner(raw) == raw
