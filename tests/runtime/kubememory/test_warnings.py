"""What is out of date or doubtful in a pod's spec is told to the writer, and kept."""

import pytest

from tests.runtime.kubememory.api import a_deployment, a_pod


def a_container(**more):
    return {"name": "main", "image": "app:1", **more}


@pytest.mark.parametrize(
    "spec, told",
    [
        (
            {"nodeSelector": {"beta.kubernetes.io/os": "linux"}},
            'spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
        ),
        (
            {"containers": [a_container(env=[{"name": "A"}, {"name": "A"}])]},
            'spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply',
        ),
        (
            {"containers": [a_container(ports=[{"containerPort": 80}, {"containerPort": 80, "name": "b"}])]},
            "spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]",
        ),
        (
            {"containers": [a_container(resources={"requests": {"memory": "100m"}})]},
            (
                'spec.containers[0].resources.requests[memory]: fractional byte value "100m" is invalid, '
                "must be an integer"
            ),
        ),
        (
            {"volumes": [{"name": "v", "gitRepo": {"repository": "x"}}]},
            "spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+",
        ),
    ],
)
def test_a_pod_is_taken_with_a_warning(api, spec, told) -> None:
    assert api.write(a_pod("a", spec=spec)).warnings == (told,)


def test_a_template_is_warned_about_when_it_changes_only(api) -> None:
    containers = [a_container(ports=[{"containerPort": 80}, {"containerPort": 80, "name": "b"}])]
    (told,) = api.write(a_deployment(template={"containers": containers})).warnings
    assert told.startswith("spec.template.spec.containers[0].ports[1]: duplicate port")
    assert api.patched("deployments", "web", {"metadata": {"labels": {"a": "b"}}}).warnings == ()
    assert api.patched("deployments", "web", {"spec": {"replicas": 2}}).warnings == (told,)


def test_a_plain_pod_is_taken_without(api) -> None:
    assert api.write(a_pod("a")).warnings == ()
