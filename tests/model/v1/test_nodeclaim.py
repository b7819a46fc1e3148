"""NodeClaims, read and written (spec v1 §1.5)."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karpenter.model.errors import FieldError
from karpenter.model.meta import Condition, ObjectMeta
from karpenter.model.nodeclaim import LAUNCHED, NodeClaim
from karpenter.model.requirements import Requirement, Requirements
from karpenter.model.units import PoolKey
from karpenter.model.v1 import decode_nodeclaim, encode_nodeclaim
from tests.builders import a_claim, a_pool, a_taint, an_owner
from tests.refusals import errors_of
from tests.strategies import KEY, requirements


def test_a_claim_is_written_as_the_api_has_it() -> None:
    """§1.5, V7."""
    pool = a_pool("web")
    claim = replace(
        a_claim("web-x", pool=pool, requests={"cpu": "1500m", "memory": "2Gi", "pods": "3"}),
        metadata=ObjectMeta(
            generate_name="web-",
            labels={"karpenter.sh/provisioner-name": "web"},
            finalizers=("karpenter.sh/termination",),
            owner_references=(an_owner("Provisioner", "web"),),
        ),
        requirements=Requirements(
            [
                Requirement.of("instance-cpu", "Gt", ["4"]),
                Requirement.of("zone", "In", ["b", "a"]),
                Requirement.of("family", "Exists", min_values=2),
            ]
        ),
        taints=(a_taint("a:NoSchedule"),),
        startup_taints=(a_taint("b=c:NoExecute"),),
        expire_after_s=90.0,
        termination_grace_period_s=3600.0,
    )
    assert encode_nodeclaim(claim) == {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {
            "generateName": "web-",
            "labels": {"karpenter.sh/provisioner-name": "web"},
            "finalizers": ["karpenter.sh/termination"],
            "ownerReferences": [
                {
                    "apiVersion": "karpenter.sh/v1alpha5",
                    "kind": "Provisioner",
                    "name": "web",
                    "uid": "uid-provisioner-web",
                    "controller": True,
                }
            ],
        },
        "spec": {
            "requirements": [
                {"key": "family", "operator": "Exists", "minValues": 2},
                {"key": "instance-cpu", "operator": "Gte", "values": ["5"]},
                {"key": "zone", "operator": "In", "values": ["a", "b"]},
            ],
            "resources": {"requests": {"cpu": "1500m", "memory": "2Gi", "pods": "3"}},
            "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "AWSNodeTemplate", "name": "default"},
            "taints": [{"key": "a", "effect": "NoSchedule"}],
            "startupTaints": [{"key": "b", "value": "c", "effect": "NoExecute"}],
            "expireAfter": "1m30s",
            "terminationGracePeriod": "1h",
        },
    }


def test_a_claim_that_never_expires_says_so_because_absence_means_a_month() -> None:
    """§1.5."""
    written = encode_nodeclaim(a_claim(pool=a_pool()))
    assert written["spec"]["expireAfter"] == "Never"
    del written["spec"]["expireAfter"]
    assert decode_nodeclaim(written).expire_after_s == 720 * 3600


claims = st.builds(
    a_claim,
    pool=st.sampled_from([a_pool("web"), a_pool("web", kind="NodePool")]),
    requirements=st.lists(requirements, max_size=1),
    requests=st.fixed_dictionaries({}, optional={"cpu": st.sampled_from(("1", "100m")), "memory": st.just("3Gi")}),
    taints=st.lists(st.sampled_from(("a:NoSchedule", "b=c:NoExecute", "c:")), unique=True),
    startup_taints=st.lists(st.sampled_from(("d:NoSchedule",)), max_size=1),
    expire_after_s=st.none() | st.integers(0, 10**7).map(float),
    termination_grace_period_s=st.none() | st.integers(0, 10**5).map(float),
)


@given(claims)
def test_a_claim_that_is_written_and_read_is_the_same(claim: NodeClaim) -> None:
    stored = replace(claim, metadata=ObjectMeta(name=claim.name, labels=claim.labels))
    assert decode_nodeclaim(encode_nodeclaim(stored)) == stored


def test_bounds_below_zero_are_written_without_a_sign_because_no_label_is_negative() -> None:
    below = Requirements([Requirement.of(KEY, "Gt", ["-5"])])
    again = decode_nodeclaim(encode_nodeclaim(replace(a_claim(), requirements=below))).requirements
    assert again == Requirements([Requirement.of(KEY, "Gte", ["0"])])


def test_a_list_that_pods_narrowed_below_its_least_number_of_values_is_read() -> None:
    narrowed = Requirements([Requirement.of(KEY, "In", ["a"], min_values=2)])
    assert decode_nodeclaim(encode_nodeclaim(replace(a_claim(), requirements=narrowed))).requirements == narrowed


@pytest.mark.parametrize(
    "labels, pool",
    [
        ({"karpenter.sh/nodepool": "a"}, PoolKey("NodePool", "a")),
        ({"karpenter.sh/provisioner-name": "a"}, PoolKey("Provisioner", "a")),
        ({}, None),
    ],
)
def test_the_pool_of_a_claim_is_the_one_that_its_labels_name(labels: dict[str, str], pool: PoolKey | None) -> None:
    assert decode_nodeclaim(encode_nodeclaim(a_claim(labels=labels))).pool == pool


def test_the_status_is_read() -> None:
    raw = encode_nodeclaim(a_claim(pool=a_pool()))
    raw["status"] = {
        "providerID": "aws:///us-west-2a/i-1",
        "nodeName": "ip-10-0-0-1",
        "imageID": "ami-1",
        "capacity": {"cpu": "4", "memory": "8Gi"},
        "allocatable": {"cpu": "3920m"},
        "lastPodEventTime": "2023-11-14T22:13:20Z",
        "conditions": [
            {"type": "Launched", "status": "True", "reason": "", "lastTransitionTime": "2023-11-14T22:13:20Z"},
            {"type": "Registered", "status": "Unknown", "lastTransitionTime": "long ago"},
        ],
    }
    claim = decode_nodeclaim(raw)
    assert (claim.provider_id, claim.node_name, claim.image_id) == ("aws:///us-west-2a/i-1", "ip-10-0-0-1", "ami-1")
    assert (claim.capacity, claim.allocatable) == ({"cpu": 4000, "memory": 2**33}, {"cpu": 3920})
    assert claim.last_pod_event_time == "2023-11-14T22:13:20Z"
    assert claim.is_true(LAUNCHED)
    assert claim.conditions == (Condition(type="Launched", status="True", last_transition_time="2023-11-14T22:13:20Z"),)


def test_a_claim_of_a_newer_release_is_read_as_far_as_we_know_it() -> None:
    raw = encode_nodeclaim(a_claim("a", pool=a_pool()))
    raw["spec"]["fromTheFuture"] = {"x": 1}
    assert decode_nodeclaim(raw).name == "a"


def test_a_claim_that_cannot_be_read_says_where() -> None:
    raw = encode_nodeclaim(a_claim("a", pool=a_pool()))
    raw["spec"]["resources"]["requests"]["cpu"] = "lots"
    assert errors_of(decode_nodeclaim, raw) == (
        FieldError("spec.resources.requests.cpu", "'lots' is not a quantity such as 500m, 2 or 4Gi"),
    )
