"""Pods: defaults, rules, binding and eviction."""

import pytest

from karpenter.runtime.kube import Conflict, Forbidden, Invalid, KubeError, NotFound, TooManyRequests
from karpenter.runtime.kubememory.deletion import DeleteOptions
from karpenter.runtime.kubememory.pods import bind, evict
from karpenter.runtime.kubememory.strategies.pods import quality_of_service
from tests.runtime.kubememory.api import a_pod


def a_budget(name="pdb", *, labels=None, **spec):
    selector = {"matchLabels": labels or {"app": "web"}}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name},
        "spec": {"selector": selector, **spec},
    }


@pytest.fixture
def running(api):
    """A running, ready pod on a node."""
    api.create(a_pod(labels={"app": "web"}, spec={"nodeName": "n1"}))
    ready = [{"type": "Ready", "status": "True"}]
    return api.set_status("pods", "web", {"phase": "Running", "conditions": ready})


def protect(api, allowed, **status):
    api.create(a_budget(minAvailable=1))
    counts = {"observedGeneration": 1, "disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 1}
    api.set_status("poddisruptionbudgets", "pdb", counts | status)


def evicted(api, **options):
    evict(api.store, api.key("pods", "web"), DeleteOptions(**options))
    return "deletionTimestamp" in api.get("pods", "web")["metadata"]


def test_a_new_pod_is_pending_whatever_it_says(api) -> None:
    pod = api.create(a_pod() | {"status": {"phase": "Running"}})
    assert pod["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


def test_a_pod_is_filled_in(api) -> None:
    container = {
        "name": "main",
        "image": "app",
        "ports": [{"containerPort": 80}],
        "livenessProbe": {"httpGet": {"port": 80}},
    }
    spec = api.create(a_pod(spec={"containers": [container], "volumes": [{"name": "tmp"}]}))["spec"]
    main = spec["containers"][0]
    assert (spec["restartPolicy"], spec["terminationGracePeriodSeconds"]) == ("Always", 30)
    assert (spec["schedulerName"], spec["serviceAccountName"], spec["priority"]) == ("default-scheduler", "default", 0)
    assert (main["imagePullPolicy"], main["ports"][0]["protocol"]) == ("Always", "TCP")
    assert main["livenessProbe"]["periodSeconds"] == 10
    assert spec["volumes"] == [{"name": "tmp", "emptyDir": {}}]


def test_a_grace_period_below_zero_is_one_second(api) -> None:
    pod = api.create(a_pod(spec={"terminationGracePeriodSeconds": -5}))
    assert pod["spec"]["terminationGracePeriodSeconds"] == 1


@pytest.mark.parametrize(
    "image, policy",
    [
        ("app", "Always"),
        ("app:latest", "Always"),
        ("app:1", "IfNotPresent"),
        ("registry:5000/app", "Always"),
        ("registry:5000/app:1", "IfNotPresent"),
        ("app@sha256:abc", "IfNotPresent"),
    ],
)
def test_an_image_is_pulled_by_its_tag(api, image, policy) -> None:
    pod = api.create(a_pod(spec={"containers": [{"name": "main", "image": image}]}))
    assert pod["spec"]["containers"][0]["imagePullPolicy"] == policy


def test_limits_are_requests_too(api) -> None:
    resources = {"limits": {"cpu": 2, "memory": "1024Mi"}, "requests": {"cpu": "0.5"}}
    pod = api.create(a_pod(spec={"containers": [{"name": "main", "image": "app", "resources": resources}]}))
    assert pod["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "500m", "memory": "1Gi"}


@pytest.mark.parametrize(
    "resources, quality",
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1024Mi"}}, "Guaranteed"),
        ({"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "1Gi"}}, "Burstable"),
        ({"requests": {"nvidia.com/gpu": "1"}}, "BestEffort"),
    ],
)
def test_a_pod_has_a_quality_of_service(resources, quality) -> None:
    assert quality_of_service({"containers": [{"name": "main", "resources": resources}]}) == quality


@pytest.mark.parametrize(
    "spec, field",
    [
        ({"containers": []}, "spec.containers"),
        ({"containers": [{"image": "a"}]}, "spec.containers[0].name"),
        ({"containers": [{"name": "A", "image": "a"}]}, "spec.containers[0].name"),
        ({"containers": [{"name": "a"}]}, "spec.containers[0].image"),
        ({"containers": [{"name": "a", "image": "a"}, {"name": "a", "image": "b"}]}, "spec.containers[1].name"),
        ({"restartPolicy": "Sometimes"}, "spec.restartPolicy"),
        ({"nodeSelector": {"a": "not ok"}}, "spec.nodeSelector"),
        ({"tolerations": [{"operator": "Equal", "value": "a"}]}, "spec.tolerations[0].operator"),
        ({"tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]}, "spec.tolerations[0].operator"),
        ({"tolerations": [{"key": "a", "effect": "Never"}]}, "spec.tolerations[0].effect"),
        ({"tolerations": [{"key": "a", "effect": "NoSchedule", "tolerationSeconds": 3}]}, "spec.tolerations[0].effect"),
        ({"topologySpreadConstraints": [{"topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"}]},
         "spec.topologySpreadConstraints[0].maxSkew"),
        ({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}},
         "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"),
        ({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}}},
         "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey"),
        ({"containers": [{"name": "a", "image": "a", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}]},
         "spec.containers[0].volumeMounts[0].name"),
        ({"containers": [{"name": "a", "image": "a", "ports": [{"containerPort": 70000}]}]},
         "spec.containers[0].ports[0].containerPort"),
        ({"containers": [{"name": "a", "image": "a", "resources": {"requests": {"cpu": 2}, "limits": {"cpu": 1}}}]},
         "spec.containers[0].resources.requests"),
        ({"containers": [{"name": "a", "image": "a", "resources": {"requests": {"cpu": "-1"}}}]},
         "spec.containers[0].resources.requests[cpu]"),
    ],
)  # fmt: skip
def test_a_pod_that_breaks_a_rule_is_refused(api, spec, field) -> None:
    with pytest.raises(Invalid) as caught:
        api.create(a_pod(spec=spec))
    assert [cause["field"] for cause in caught.value.details["causes"]] == [field]


def test_an_image_can_be_changed_and_little_else(api) -> None:
    api.create(a_pod())
    image = {"spec": {"containers": [{"name": "main", "image": "app:2"}]}}
    assert api.patch("pods", "web", image, "strategic")["spec"]["containers"][0]["image"] == "app:2"
    with pytest.raises(Invalid, match="pod updates may not change fields other than"):
        api.patch("pods", "web", {"spec": {"hostNetwork": True}})


def test_tolerations_can_only_be_added(api) -> None:
    pod = api.create(a_pod())
    more = [*pod["spec"]["tolerations"], {"key": "a", "operator": "Exists"}]
    assert api.patch("pods", "web", {"spec": {"tolerations": more}})["spec"]["tolerations"] == more
    with pytest.raises(Invalid, match="existing toleration can not be modified"):
        api.patch("pods", "web", {"spec": {"tolerations": more[:1]}})


def test_scheduling_gates_can_only_be_taken_off(api) -> None:
    api.create(a_pod(spec={"schedulingGates": [{"name": "example.com/a"}, {"name": "example.com/b"}]}))
    fewer = {"spec": {"schedulingGates": [{"name": "example.com/b"}], "nodeSelector": {"a": "b"}}}
    assert api.patch("pods", "web", fewer)["spec"]["nodeSelector"] == {"a": "b"}
    with pytest.raises(Invalid, match="only deletion is allowed"):
        api.patch("pods", "web", {"spec": {"schedulingGates": [{"name": "example.com/c"}]}})


def test_a_pod_is_bound_once(api) -> None:
    pod = api.create(a_pod())
    key = api.key("pods", "web")
    bind(api.store, key, "n1", uid=pod["metadata"]["uid"])
    bound = api.get("pods", "web")
    assert bound["spec"]["nodeName"] == "n1"
    assert bound["status"]["conditions"] == [
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2023-11-14T22:13:20Z"}
    ]
    with pytest.raises(Conflict, match='pod web is already assigned to node "n1"'):
        bind(api.store, key, "n2")


def test_a_pod_that_is_gated_deleted_or_another_is_not_bound(api) -> None:
    api.create(a_pod("gated", spec={"schedulingGates": [{"name": "example.com/a"}]}))
    api.create(a_pod("going", finalizers=["example.com/wait"]))
    api.delete("pods", "going")
    with pytest.raises(Conflict, match="has non-empty"):
        bind(api.store, api.key("pods", "gated"), "n1")
    with pytest.raises(Conflict, match="is being deleted"):
        bind(api.store, api.key("pods", "going"), "n1")
    with pytest.raises(Conflict, match="the UID in the precondition"):
        bind(api.store, api.key("pods", "gated"), "n1", uid="other")


def test_a_pod_without_a_budget_is_evicted(api, running) -> None:
    assert evicted(api, grace_period_s=7)
    assert api.get("pods", "web")["metadata"]["deletionGracePeriodSeconds"] == 7


def test_a_budget_that_allows_nothing_says_why(api, running) -> None:
    protect(api, allowed=0)
    with pytest.raises(TooManyRequests) as caught:
        evicted(api)
    assert caught.value.message == "Cannot evict pod as it would violate the pod's disruption budget."
    assert caught.value.details["causes"] == [
        {"reason": "DisruptionBudget", "message": "The disruption budget pdb needs 1 healthy pods and has 1 currently"}
    ]


def test_an_eviction_is_counted_in_its_budget(api, running) -> None:
    protect(api, allowed=1)
    assert evicted(api)
    status = api.get("poddisruptionbudgets", "pdb")["status"]
    assert (status["disruptionsAllowed"], status["disruptedPods"]) == (0, {"web": "2023-11-14T22:13:20Z"})
    assert status["conditions"][0] | {"lastTransitionTime": ""} == {
        "type": "DisruptionAllowed",
        "status": "False",
        "reason": "InsufficientPods",
        "message": "",
        "observedGeneration": 1,
        "lastTransitionTime": "",
    }


def test_a_budget_whose_controller_lags_behind_allows_nothing(api, running) -> None:
    protect(api, allowed=5, observedGeneration=0)
    with pytest.raises(TooManyRequests) as caught:
        evicted(api)
    assert caught.value.retry_after_s == 10
    assert "is still being processed" in caught.value.details["causes"][0]["message"]


def test_two_budgets_for_one_pod_are_an_error(api, running) -> None:
    protect(api, allowed=1)
    api.create(a_budget("second", maxUnavailable=1))
    with pytest.raises(KubeError, match="more than one PodDisruptionBudget") as caught:
        evicted(api)
    assert caught.value.status == 500


def test_a_budget_of_other_pods_or_another_namespace_does_not_count(api, running) -> None:
    api.create(a_budget("other", labels={"app": "db"}, minAvailable=1))
    api.create(a_budget("elsewhere", minAvailable=1), namespace="kube-system")
    assert evicted(api)


def test_a_pod_that_does_not_run_yet_is_evicted_past_its_budget(api) -> None:
    api.create(a_pod(labels={"app": "web"}, spec={"nodeName": "n1"}))
    protect(api, allowed=0)
    assert evicted(api)


def test_a_pod_that_is_being_deleted_already_is_evicted_past_its_budget(api, running) -> None:
    protect(api, allowed=0)
    api.delete("pods", "web")
    assert evicted(api)


@pytest.mark.parametrize(
    "policy, healthy, goes",
    [(None, 1, True), (None, 0, False), ("AlwaysAllow", 0, True), ("IfHealthyBudget", 0, False)],
)
def test_an_unhealthy_pod_goes_by_the_budgets_policy(api, running, policy, healthy, goes) -> None:
    api.set_status("pods", "web", {"conditions": [{"type": "Ready", "status": "False"}]})
    api.create(a_budget(minAvailable=1, **({"unhealthyPodEvictionPolicy": policy} if policy else {})))
    counts = {"observedGeneration": 1, "disruptionsAllowed": 0, "currentHealthy": healthy, "desiredHealthy": 1}
    api.set_status("poddisruptionbudgets", "pdb", counts)
    if goes:
        assert evicted(api)
        assert api.get("poddisruptionbudgets", "pdb")["status"]["disruptionsAllowed"] == 0
    else:
        with pytest.raises(TooManyRequests):
            evicted(api)


def test_an_eviction_is_of_one_very_pod(api, running) -> None:
    protect(api, allowed=1)
    with pytest.raises(Conflict):
        evicted(api, uid="other")
    assert api.get("poddisruptionbudgets", "pdb")["status"]["disruptionsAllowed"] == 1
    with pytest.raises(NotFound):
        evict(api.store, api.key("pods", "missing"))


def test_a_dry_run_evicts_and_counts_nothing(api, running) -> None:
    protect(api, allowed=1)
    assert not evicted(api, dry_run=True)
    assert api.get("poddisruptionbudgets", "pdb")["status"]["disruptionsAllowed"] == 1


def test_a_priority_class_gives_the_priority(api) -> None:
    api.create(
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}
    )
    spec = api.create(a_pod(spec={"priorityClassName": "high"}))["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (1000, "PreemptLowerPriority")


def test_a_global_default_class_is_for_those_without(api) -> None:
    body = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "usual"}, "value": 5}
    api.create(body | {"globalDefault": True, "preemptionPolicy": "Never"})
    spec = api.create(a_pod())["spec"]
    assert (spec["priorityClassName"], spec["priority"], spec["preemptionPolicy"]) == ("usual", 5, "Never")


def test_an_unknown_class_or_a_number_of_ones_own_is_forbidden(api) -> None:
    with pytest.raises(Forbidden, match="no PriorityClass with name high was found"):
        api.create(a_pod(spec={"priorityClassName": "high"}))
    with pytest.raises(Forbidden, match="must not be provided in pod spec"):
        api.create(a_pod(spec={"priority": 7}))


def test_a_pod_tolerates_unwell_nodes_for_five_minutes(api) -> None:
    own = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
    tolerations = api.create(a_pod(spec={"tolerations": [own]}))["spec"]["tolerations"]
    added = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}
    assert tolerations == [own, added | {"tolerationSeconds": 300}]


def test_a_limit_range_gives_requests_and_limits(api) -> None:
    limit = {"type": "Container", "default": {"cpu": "2"}, "defaultRequest": {"cpu": "500m"}}
    api.create({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"}, "spec": {"limits": [limit]}})
    resources = api.create(a_pod())["spec"]["containers"][0]["resources"]
    assert resources == {"requests": {"cpu": "500m"}, "limits": {"cpu": "2"}}
    assert api.create(a_pod(), namespace="kube-system")["spec"]["containers"][0]["resources"] == {}


def test_a_limit_range_forbids_too_much_and_too_little(api) -> None:
    limit = {"type": "Container", "max": {"cpu": "1"}, "min": {"cpu": "100m"}}
    api.create({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"}, "spec": {"limits": [limit]}})
    large = {"containers": [{"name": "main", "image": "app", "resources": {"limits": {"cpu": "2"}}}]}
    small = {
        "containers": [
            {"name": "main", "image": "app", "resources": {"requests": {"cpu": "1m"}, "limits": {"cpu": "1"}}}
        ]
    }
    with pytest.raises(Forbidden, match="maximum cpu usage per Container is 1, but limit is 2"):
        api.create(a_pod(spec=large))
    with pytest.raises(Forbidden, match="minimum cpu usage per Container is 100m, but request is 1m"):
        api.create(a_pod(spec=small))
