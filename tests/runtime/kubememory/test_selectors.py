"""Label and field selectors."""

import pytest

from karpenter.runtime.kube import BadRequest
from karpenter.runtime.kubememory.selectors import parse_labels
from tests.runtime.kubememory.api import a_node, a_pod


@pytest.mark.parametrize(
    "text, matches",
    [
        ("", True),
        ("app=web", True),
        ("app==web", True),
        ("app = web", True),
        ("app=db", False),
        ("app!=db", True),
        ("missing!=db", True),
        ("app in (web, db)", True),
        ("app in (db)", False),
        ("app notin (db)", True),
        ("missing notin (db)", True),
        ("app", True),
        ("missing", False),
        ("!missing", True),
        ("!app", False),
        ("size>3", True),
        ("size>4", False),
        ("size<5", True),
        ("app>1", False),
        ("app=web,size=4", True),
        ("app in (web,db),size=5", False),
        ("empty=", True),
        ("example.com/tier=front", True),
    ],
)
def test_a_label_selector_matches(text, matches) -> None:
    labels = {"app": "web", "size": "4", "empty": "", "example.com/tier": "front"}
    assert all(test(labels) for test in parse_labels(text)) is matches


@pytest.mark.parametrize("text", ["a=b=c", "a in b", "=b", "a in (b", "-a=b", "a,,b"])
def test_a_label_selector_that_cannot_be_read_is_refused(text) -> None:
    with pytest.raises(BadRequest, match="unable to parse requirement"):
        parse_labels(text)


def test_pods_are_found_by_node_and_phase(api) -> None:
    api.create(a_pod("bound", spec={"nodeName": "n1"}))
    api.create(a_pod("waiting"))
    assert api.names("pods", field_selector="spec.nodeName=n1") == ["bound"]
    assert api.names("pods", field_selector="spec.nodeName=") == ["waiting"]
    assert api.names("pods", field_selector="spec.nodeName!=n1,status.phase=Pending") == ["waiting"]
    assert api.names("pods", field_selector="metadata.name=bound,metadata.namespace=default") == ["bound"]


def test_nodes_are_found_by_being_cordoned(api) -> None:
    api.create(a_node("open"))
    api.create(a_node("closed", unschedulable=True))
    assert api.names("nodes", field_selector="spec.unschedulable=true") == ["closed"]
    assert api.names("nodes", field_selector="spec.unschedulable=false") == ["open"]


def test_events_are_found_by_what_they_are_about(api) -> None:
    about = {"kind": "Pod", "namespace": "default", "name": "web", "uid": "u1"}
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e1"},
        "involvedObject": about,
        "reason": "Pulled",
    }
    api.create(event | {"type": "Normal", "source": {"component": "kubelet"}})
    selector = "involvedObject.kind=Pod,involvedObject.uid=u1,reason=Pulled,type=Normal,source=kubelet"
    assert api.names("events", field_selector=selector) == ["e1"]
    assert api.names("events", field_selector="involvedObject.name=db") == []


def test_a_field_that_no_selector_may_name_is_refused(api) -> None:
    with pytest.raises(BadRequest, match=r"field label not supported: spec\.hostname"):
        api.names("pods", field_selector="spec.hostname=a")
    with pytest.raises(BadRequest, match=r"field label not supported: metadata\.namespace"):
        api.names("nodes", field_selector="metadata.namespace=a")
