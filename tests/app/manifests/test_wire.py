"""A wire struct is decoded whole, or everything that is wrong with it is told."""

from karpenter.app.manifests.wire import decode_wire
from karpenter.model import core
from karpenter.model.errors import FieldError


def test_null_counts_as_absent() -> None:
    raw = {"metadata": {"name": "a", "labels": None}, "spec": {"tolerations": None}, "status": None}
    pod, errors = decode_wire(raw, core.Pod)
    assert (pod.spec, pod.metadata.labels, errors) == (core.PodSpec(), {}, ())


def test_every_field_of_the_wrong_type_is_told_with_its_path_and_a_fix() -> None:
    raw = {
        "metadata": {"name": "a", "labels": {"tier": 1, "example.com/gpu": True}},
        "spec": {
            "priority": "high",
            "tolerations": {"key": "x"},
            "containers": [{"name": "c", "resources": {"requests": {"cpu": []}}}, {"ports": [{"hostPort": "80"}]}, "c"],
            "affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}},
        },
    }
    pod, errors = decode_wire(raw, core.Pod)
    affinity = "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution"
    assert pod is None
    assert set(errors) == {
        FieldError("metadata.labels.tier", "expected a string, got the number 1", 'write "1"'),
        FieldError("metadata.labels[example.com/gpu]", "expected a string, got true", 'write "true"'),
        FieldError("spec.priority", "expected an integer, got the string 'high'"),
        FieldError("spec.tolerations", "expected a list, got an object"),
        FieldError("spec.containers[0].resources.requests.cpu", "expected a string or a number, got a list"),
        FieldError("spec.containers[1].ports[0].hostPort", "expected an integer, got the string '80'"),
        FieldError("spec.containers[2]", "expected an object, got the string 'c'"),
        FieldError(f"{affinity}[0].topologyKey", "is missing"),
    }


def test_a_key_that_is_no_string_is_told() -> None:
    _, errors = decode_wire({"metadata": {"name": "a", "labels": {5: "x"}}}, core.Pod)
    assert errors == (FieldError("metadata.labels", "key 5 is not a string", "put it in quotes"),)


def test_a_field_of_either_type_takes_both() -> None:
    for value in (1, "50%"):
        pdb, _ = decode_wire({"metadata": {"name": "a"}, "spec": {"minAvailable": value}}, core.PodDisruptionBudget)
        assert pdb.spec.min_available == value
