"""What the columns of each kind show."""

from typing import Any

import pytest

from karpenter.model.units import UnixSeconds
from karpenter.runtime.kubememory.builtin import BUILTIN
from karpenter.runtime.kubememory.custom import read_versions
from karpenter.sim.apiserver.printing import printer_of
from karpenter.sim.apiserver.printing.custom import custom_printer
from tests.runtime.kubememory.api import a_definition

NOW = UnixSeconds(1_700_000_000.0)
BORN = "2023-11-14T22:10:00Z"
"""3 minutes and 20 seconds before NOW."""


def kind_of(plural: str):
    return next(kind for kind in BUILTIN if kind.plural == plural)


def row(plural: str, *, wide: bool = False, kind: str = "", **fields: Any) -> dict[str, Any]:
    """Return the cells of one object by their headings."""
    printer = printer_of(kind_of(plural), None)
    metadata = {"name": "it", "creationTimestamp": BORN, **fields.pop("metadata", {})}
    cells = printer.cells({"kind": kind or kind_of(plural).kind, "metadata": metadata, **fields}, NOW)
    assert len(cells) == len(printer.columns)
    return {
        column.name: cell for column, cell in zip(printer.columns, cells, strict=True) if wide or column.priority == 0
    }


def a_status(name: str = "main", *, ready: bool = False, restarts: int = 0, last: Any = None, **state: Any) -> Any:
    return {"name": name, "ready": ready, "restartCount": restarts, "state": state, "lastState": last or {}}


def pod_status(*statuses: Any, phase: str = "Running", spec: Any = None, metadata: Any = None, **status: Any) -> str:
    spec = {"containers": [{"name": "main"}], **(spec or {})}
    status = {"phase": phase, "containerStatuses": list(statuses), **status}
    shown: str = row("pods", spec=spec, status=status, metadata=metadata or {})["Status"]
    return shown


def test_a_running_pod() -> None:
    spec = {"containers": [{"name": "main"}, {"name": "side"}], "nodeName": "n1"}
    statuses = [a_status(ready=True, running={}), a_status("side", running={}, restarts=1)]
    status = {"phase": "Running", "podIP": "10.0.0.7", "containerStatuses": statuses}
    assert row("pods", wide=True, spec=spec, status=status) == {
        "Name": "it",
        "Ready": "1/2",
        "Status": "Running",
        "Restarts": "1",
        "Age": "3m20s",
        "IP": "10.0.0.7",
        "Node": "n1",
        "Nominated Node": "<none>",
        "Readiness Gates": "<none>",
    }


@pytest.mark.parametrize(
    "state, phase, shown",
    [
        ({"waiting": {"reason": "ContainerCreating"}}, "Pending", "ContainerCreating"),
        ({"waiting": {"reason": "CrashLoopBackOff"}}, "Running", "CrashLoopBackOff"),
        ({"terminated": {"exitCode": 1, "reason": "Error"}}, "Failed", "Error"),
        ({"terminated": {"exitCode": 3}}, "Failed", "ExitCode:3"),
        ({"terminated": {"exitCode": 137, "signal": 9}}, "Failed", "Signal:9"),
        ({"terminated": {"exitCode": 0, "reason": "Completed"}}, "Succeeded", "Completed"),
    ],
)
def test_a_pods_status_is_that_of_its_container(state, phase, shown) -> None:
    assert pod_status(a_status(**state), phase=phase) == shown


def test_a_pod_that_is_being_deleted_is_terminating_unless_it_has_ended() -> None:
    going = {"deletionTimestamp": BORN}
    assert pod_status(a_status(running={}), metadata=going) == "Terminating"
    assert pod_status(phase="Succeeded", metadata=going) == "Succeeded"


def test_a_pod_whose_init_containers_run_counts_them() -> None:
    spec = {"initContainers": [{"name": "a"}, {"name": "b"}]}
    done, running = a_status("a", terminated={"exitCode": 0}), a_status("b", running={})
    assert pod_status(phase="Pending", spec=spec, initContainerStatuses=[done, running]) == "Init:1/2"
    failed = a_status("b", terminated={"exitCode": 1, "reason": "Error"})
    assert pod_status(phase="Pending", spec=spec, initContainerStatuses=[done, failed]) == "Init:Error"


def test_a_gated_pod_is_shown_as_such() -> None:
    conditions = [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]
    assert pod_status(phase="Pending", conditions=conditions) == "SchedulingGated"


def test_the_last_restart_is_told() -> None:
    last = {"terminated": {"finishedAt": "2023-11-14T22:12:50Z"}}
    status = {"phase": "Running", "containerStatuses": [a_status(running={}, restarts=2, last=last)]}
    assert row("pods", spec={"containers": [{"name": "main"}]}, status=status)["Restarts"] == "2 (30s ago)"


def test_a_sidecar_counts_as_a_container() -> None:
    spec = {"containers": [{"name": "main"}], "initContainers": [{"name": "proxy", "restartPolicy": "Always"}]}
    proxy = a_status("proxy", ready=True, running={}) | {"started": True}
    status = {
        "phase": "Running",
        "containerStatuses": [a_status(ready=True, running={})],
        "initContainerStatuses": [proxy],
    }
    shown = row("pods", spec=spec, status=status)
    assert (shown["Ready"], shown["Status"]) == ("2/2", "Running")


def test_a_node() -> None:
    labels = {"node-role.kubernetes.io/control-plane": "", "kubernetes.io/role": "spot"}
    info = {
        "kubeletVersion": "v1.32.0",
        "osImage": "AL2023",
        "kernelVersion": "6.1",
        "containerRuntimeVersion": "cd://2",
    }
    status = {
        "conditions": [{"type": "Ready", "status": "True"}],
        "nodeInfo": info,
        "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
    }
    assert row("nodes", wide=True, metadata={"labels": labels}, spec={"unschedulable": True}, status=status) == {
        "Name": "it",
        "Status": "Ready,SchedulingDisabled",
        "Roles": "control-plane,spot",
        "Age": "3m20s",
        "Version": "v1.32.0",
        "Internal-IP": "10.0.0.1",
        "External-IP": "<none>",
        "OS-Image": "AL2023",
        "Kernel-Version": "6.1",
        "Container-Runtime": "cd://2",
    }


@pytest.mark.parametrize("status, shown", [("True", "Ready"), ("False", "NotReady"), ("Unknown", "NotReady")])
def test_a_node_is_ready_or_not(status, shown) -> None:
    conditions = [{"type": "Ready", "status": status}]
    assert row("nodes", status={"conditions": conditions})["Status"] == shown


def test_a_deployment() -> None:
    template = {"spec": {"containers": [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:2"}]}}
    spec = {"replicas": 3, "template": template, "selector": {"matchLabels": {"app": "web"}}}
    status = {"readyReplicas": 2, "updatedReplicas": 3, "availableReplicas": 1}
    assert row("deployments", wide=True, spec=spec, status=status) == {
        "Name": "it",
        "Ready": "2/3",
        "Up-to-date": 3,
        "Available": 1,
        "Age": "3m20s",
        "Containers": "a,b",
        "Images": "a:1,b:2",
        "Selector": "app=web",
    }


def test_the_other_workloads() -> None:
    assert row("replicasets", spec={"replicas": 3}, status={"replicas": 2, "readyReplicas": 1}) == {
        "Name": "it",
        "Desired": 3,
        "Current": 2,
        "Ready": 1,
        "Age": "3m20s",
    }
    counts = {"desiredNumberScheduled": 4, "currentNumberScheduled": 3, "numberReady": 2, "numberAvailable": 1}
    daemons = row("daemonsets", spec={"template": {"spec": {"nodeSelector": {"a": "b"}}}}, status=counts)
    assert list(daemons.values()) == ["it", 4, 3, 2, 0, 1, "a=b", "3m20s"]
    assert row("statefulsets", spec={"replicas": 2}, status={"readyReplicas": 1})["Ready"] == "1/2"


@pytest.mark.parametrize(
    "status, shown",
    [
        ({}, ("Running", "0/3", "")),
        ({"startTime": BORN, "succeeded": 1}, ("Running", "1/3", "3m20s")),
        (
            {
                "startTime": BORN,
                "completionTime": "2023-11-14T22:11:00Z",
                "succeeded": 3,
                "conditions": [{"type": "Complete", "status": "True"}],
            },
            ("Complete", "3/3", "60s"),
        ),
        ({"conditions": [{"type": "Failed", "status": "True"}]}, ("Failed", "0/3", "")),
    ],
)
def test_a_job(status, shown) -> None:
    cells = row("jobs", spec={"completions": 3}, status=status)
    assert (cells["Status"], cells["Completions"], cells["Duration"]) == shown


def test_a_cron_job() -> None:
    spec = {"schedule": "@daily", "suspend": False}
    cells = row("cronjobs", spec=spec, status={"lastScheduleTime": BORN, "active": [{}]})
    assert list(cells.values()) == ["it", "@daily", "<none>", "False", 1, "3m20s", "3m20s"]


def test_an_event_is_told_from_its_last_time() -> None:
    event = {
        "type": "Warning",
        "reason": "FailedScheduling",
        "message": "no room\n",
        "involvedObject": {"kind": "Pod", "name": "web"},
        "source": {"component": "scheduler"},
        "firstTimestamp": BORN,
        "lastTimestamp": "2023-11-14T22:13:00Z",
        "count": 5,
    }
    cells = row("events", wide=True, **event)
    assert list(cells.values()) == [
        "20s",
        "Warning",
        "FailedScheduling",
        "pod/web",
        "",
        "scheduler",
        "no room",
        "3m20s",
        5,
        "it",
    ]
    assert list(row("events", **event)) == ["Last Seen", "Type", "Reason", "Object", "Message"]


def test_a_budget() -> None:
    cells = row("poddisruptionbudgets", spec={"maxUnavailable": "25%"}, status={"disruptionsAllowed": 2})
    assert list(cells.values()) == ["it", "N/A", "25%", 2, "3m20s"]


def test_a_service() -> None:
    spec = {"type": "NodePort", "clusterIP": "10.96.0.9", "ports": [{"port": 80, "nodePort": 30080}, {"port": 443}]}
    cells = row("services", wide=True, spec=spec | {"selector": {"app": "web"}})
    assert list(cells.values()) == ["it", "NodePort", "10.96.0.9", "<none>", "80:30080/TCP,443/TCP", "3m20s", "app=web"]
    assert row("services", spec={"type": "LoadBalancer"})["External-IP"] == "<pending>"


def test_volumes_and_claims() -> None:
    spec = {"volumeName": "v1", "storageClassName": "gp3", "volumeMode": "Filesystem"}
    status = {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
    claim = row("persistentvolumeclaims", wide=True, spec=spec, status=status)
    assert list(claim.values()) == ["it", "Bound", "v1", "1Gi", "RWO", "gp3", "<unset>", "3m20s", "Filesystem"]
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce", "ReadOnlyMany"],
        "persistentVolumeReclaimPolicy": "Delete",
        "claimRef": {"namespace": "default", "name": "data"},
        "storageClassName": "gp3",
    }
    volume = row("persistentvolumes", spec=spec, status={"phase": "Bound"})
    assert list(volume.values()) == [
        "it",
        "1Gi",
        "RWO,ROX",
        "Delete",
        "Bound",
        "default/data",
        "gp3",
        "<unset>",
        "",
        "3m20s",
    ]


def test_the_default_storage_class_is_marked() -> None:
    mark = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
    cells = row(
        "storageclasses", metadata=mark, provisioner="ebs.csi.aws.com", volumeBindingMode="WaitForFirstConsumer"
    )
    assert list(cells.values()) == ["it (default)", "ebs.csi.aws.com", "Delete", "WaitForFirstConsumer", False, "3m20s"]


@pytest.mark.parametrize(
    "plural, fields, shown",
    [
        ("namespaces", {"status": {"phase": "Active"}}, ["it", "Active", "3m20s"]),
        ("configmaps", {"data": {"a": "1"}, "binaryData": {"b": ""}}, ["it", 2, "3m20s"]),
        ("secrets", {"type": "Opaque", "data": {"a": ""}}, ["it", "Opaque", 1, "3m20s"]),
        ("serviceaccounts", {}, ["it", "3m20s"]),
        ("leases", {"spec": {"holderIdentity": "me"}}, ["it", "me", "3m20s"]),
        ("priorityclasses", {"value": 7, "preemptionPolicy": "Never"}, ["it", 7, False, "3m20s", "Never"]),
        ("customresourcedefinitions", {}, ["it", BORN]),
        ("csinodes", {"spec": {"drivers": [{"name": "a"}]}}, ["it", 1, "3m20s"]),
        ("rolebindings", {"roleRef": {"kind": "Role", "name": "r"}}, ["it", "Role/r", "3m20s"]),
        ("podtemplates", {}, ["it", "3m20s"]),
    ],
)
def test_the_smaller_kinds(plural, fields, shown) -> None:
    assert list(row(plural, **fields).values()) == shown


@pytest.mark.parametrize("kind", BUILTIN, ids=lambda kind: kind.plural)
def test_every_kind_prints_an_object_that_has_nothing_yet(kind) -> None:
    assert row(kind.plural, wide=True)


def test_a_custom_kind_prints_the_columns_of_its_definition() -> None:
    columns = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
        {"name": "Color", "type": "string", "jsonPath": ".spec.color", "priority": 1},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    definition = a_definition(additionalPrinterColumns=columns)
    definition["spec"]["names"]["singular"] = "widget"
    [version] = read_versions(definition)
    printer = custom_printer(version)
    widget = {"metadata": {"name": "w", "creationTimestamp": BORN}, "spec": {"size": 3, "color": "red"}}
    assert [(column.name, column.priority) for column in printer.columns] == [
        ("Name", 0),
        ("Size", 0),
        ("Ready", 0),
        ("Color", 1),
        ("Age", 0),
    ]
    assert list(printer.cells(widget, NOW)) == ["w", 3, None, "red", "3m20s"]


def test_a_custom_kind_without_columns_prints_its_age() -> None:
    definition = a_definition()
    definition["spec"]["names"]["singular"] = "widget"
    [version] = read_versions(definition)
    assert [column.name for column in custom_printer(version).columns] == ["Name", "Age"]
