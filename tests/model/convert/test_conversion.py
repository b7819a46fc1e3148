"""Old manifests become new ones that mean the same, or a note says what does not (spec v1 §7)."""

from typing import Any

import pytest

from karpenter.model import labels
from karpenter.model.convert import Conversion, Profile, convert
from karpenter.model.v1 import decode_nodepool
from tests.builders import a_node_template, a_provisioner

ROLE = Profile(role="nodes")


def _only(conversion: Conversion, kind: str) -> Any:
    found = [manifest for manifest in conversion.manifests if manifest["kind"] == kind]
    assert len(found) == 1
    return found[0]


def _pool(**spec: Any) -> Any:
    return _only(convert([a_provisioner(**spec)], [], profile=ROLE), "NodePool")


def _class(**spec: Any) -> Any:
    return _only(convert([], [a_node_template(**spec)], profile=ROLE), "EC2NodeClass")


def _messages(conversion: Conversion, level: str) -> list[str]:
    return [str(note) for note in conversion.notes if note.level == level]


@pytest.mark.parametrize(
    "spec, policy, after",
    [
        ({}, "WhenEmpty", "Never"),
        ({"ttlSecondsAfterEmpty": 30}, "WhenEmpty", "30s"),
        ({"consolidation": {"enabled": True}}, "WhenEmptyOrUnderutilized", "0s"),
        ({"consolidation": {"enabled": True}, "ttlSecondsAfterEmpty": 30}, "WhenEmptyOrUnderutilized", "30s"),
    ],
)
def test_how_nodes_are_given_back_is_kept(spec: dict[str, Any], policy: str, after: str) -> None:
    disruption = _pool(**spec)["spec"]["disruption"]
    assert (disruption["consolidationPolicy"], disruption["consolidateAfter"]) == (policy, after)


def test_both_ways_of_giving_back_cost_a_note() -> None:
    converted = convert([a_provisioner(consolidation={"enabled": True}, ttlSecondsAfterEmpty=30)], [], profile=ROLE)
    assert any(
        "ttlSecondsAfterEmpty: holds for consolidation as well" in each for each in _messages(converted, "changes")
    )


def test_defaults_are_written_out_because_a_nodepool_has_none() -> None:
    entries = {entry["key"]: entry for entry in _pool()["spec"]["template"]["spec"]["requirements"]}
    assert entries[labels.ARCH]["values"] == ["amd64"]
    assert entries[labels.OS]["values"] == ["linux"]
    assert entries[labels.CAPACITY_TYPE]["values"] == ["on-demand"]
    assert entries[labels.INSTANCE_CATEGORY]["values"] == ["c", "m", "r"]


@pytest.mark.parametrize("ttl, expected", [(None, "Never"), (2592000, "2592000s")])
def test_a_lifetime_that_was_not_limited_stays_so(ttl: int | None, expected: str) -> None:
    spec = {} if ttl is None else {"ttlSecondsUntilExpired": ttl}
    assert _pool(**spec)["spec"]["template"]["spec"]["expireAfter"] == expected


def test_limits_weight_labels_and_taints_move_to_their_places() -> None:
    pool = _pool(
        limits={"resources": {"cpu": "1000"}},
        weight=10,
        labels={"team": "a"},
        annotations={"note": "b"},
        taints=[{"key": "k", "effect": "NoSchedule"}],
        startupTaints=[{"key": "s", "effect": "NoExecute"}],
    )
    template = pool["spec"]["template"]
    assert (pool["spec"]["limits"], pool["spec"]["weight"]) == ({"cpu": "1000"}, 10)
    assert template["metadata"] == {"labels": {"team": "a"}, "annotations": {"note": "b"}}
    assert template["spec"]["taints"] == [{"key": "k", "effect": "NoSchedule"}]
    assert template["spec"]["startupTaints"] == [{"key": "s", "effect": "NoExecute"}]


def test_budgets_keep_drift_one_at_a_time_and_consolidation_a_tenth() -> None:
    budgets = _pool()["spec"]["disruption"]["budgets"]
    assert budgets == [{"nodes": "1", "reasons": ["Drifted"]}, {"nodes": "10%", "reasons": ["Underutilized"]}]


def test_each_kubelet_block_becomes_a_class_of_its_own() -> None:
    provisioners = [
        a_provisioner("plain", providerRef={"name": "base"}),
        a_provisioner("dense", providerRef={"name": "base"}, kubeletConfiguration={"maxPods": 200}),
        a_provisioner("dense-too", providerRef={"name": "base"}, kubeletConfiguration={"maxPods": 200}),
        a_provisioner("old", providerRef={"name": "base"}, kubeletConfiguration={"containerRuntime": "containerd"}),
    ]
    converted = convert(provisioners, [a_node_template("base")], profile=ROLE)
    classes = {each["metadata"]["name"]: each["spec"] for each in converted.manifests if each["kind"] == "EC2NodeClass"}
    named = {
        each["metadata"]["name"]: each["spec"]["template"]["spec"]["nodeClassRef"]["name"]
        for each in converted.manifests
        if each["kind"] == "NodePool"
    }
    assert named == {"plain": "base", "dense": "base-dense", "dense-too": "base-dense", "old": "base"}
    assert "kubelet" not in classes["base"]
    assert classes["base-dense"]["kubelet"] == {"maxPods": 200}
    assert (
        "lost: Provisioner old: spec.kubeletConfiguration.containerRuntime: there is no choice any more"
        in _messages(converted, "lost")
    )


def test_a_grace_period_written_as_a_duration_becomes_seconds() -> None:
    kubelet = {"evictionMaxPodGracePeriod": "3m"}
    converted = convert(
        [a_provisioner(providerRef={"name": "base"}, kubeletConfiguration=kubelet)],
        [a_node_template("base")],
        profile=ROLE,
    )
    assert _only(converted, "EC2NodeClass")["spec"]["kubelet"] == {"evictionMaxPodGracePeriod": 180}


def test_an_inline_provider_becomes_a_class_named_like_its_pool() -> None:
    raw = a_provisioner("inline")
    raw["spec"].pop("providerRef", None)
    raw["spec"]["provider"] = {
        "subnetSelector": {"a": "b,c"},
        "securityGroupSelector": {"aws-ids": "sg-1"},
        "instanceProfile": "profile",
    }
    node_class = _only(convert([raw], []), "EC2NodeClass")
    assert node_class["metadata"]["name"] == "inline"
    assert node_class["spec"]["subnetSelectorTerms"] == [{"tags": {"a": "b"}}, {"tags": {"a": "c"}}]
    assert node_class["spec"]["securityGroupSelectorTerms"] == [{"id": "sg-1"}]
    assert node_class["spec"]["instanceProfile"] == "profile"


def test_images_are_recommended_by_alias_and_selected_ones_keep_their_family() -> None:
    assert _class()["spec"]["amiSelectorTerms"] == [{"alias": "al2@latest"}]
    assert _class(amiFamily="Bottlerocket")["spec"]["amiSelectorTerms"] == [{"alias": "bottlerocket@latest"}]
    chosen = _class(amiSelector={"aws::name": "a,b", "aws::owners": "self"})["spec"]
    assert chosen["amiFamily"] == "AL2"
    assert chosen["amiSelectorTerms"] == [{"name": "a", "owner": "self"}, {"name": "b", "owner": "self"}]


def test_the_old_hop_limit_is_written_out() -> None:
    assert _class()["spec"]["metadataOptions"] == {"httpPutResponseHopLimit": 2}
    assert _class(metadataOptions={"httpTokens": "optional", "httpPutResponseHopLimit": 3})["spec"][
        "metadataOptions"
    ] == {
        "httpPutResponseHopLimit": 3,
        "httpTokens": "optional",
    }


@pytest.mark.parametrize(
    "spec, message",
    [
        (
            {"launchTemplate": "mine", "securityGroupSelector": None},
            "spec.launchTemplate: launch templates of one's own",
        ),
        ({"amiFamily": "Ubuntu"}, "spec.amiFamily: there is no recommended Ubuntu image any more"),
    ],
)
def test_what_cannot_be_said_any_more_is_refused_with_the_fix(spec: dict[str, Any], message: str) -> None:
    raw = a_node_template(**spec)
    raw["spec"] = {name: value for name, value in raw["spec"].items() if value is not None}
    converted = convert([], [raw], profile=ROLE)
    assert not converted.is_whole
    assert converted.manifests == ()
    assert any(message in each for each in _messages(converted, "refused"))


def test_a_class_without_any_profile_is_refused_and_the_pool_converted_all_the_same() -> None:
    converted = convert([a_provisioner(providerRef={"name": "base"})], [a_node_template("base")])
    assert [manifest["kind"] for manifest in converted.manifests] == ["NodePool"]
    assert any("--role or --instance-profile" in each for each in _messages(converted, "refused"))


def test_a_tag_that_karpenter_sets_itself_is_left_out() -> None:
    converted = convert([], [a_node_template(tags={"eks:eks-cluster-name": "c", "team": "a"})], profile=ROLE)
    assert _only(converted, "EC2NodeClass")["spec"]["tags"] == {"team": "a"}
    assert len(_messages(converted, "lost")) == 1


def test_the_heir_is_marked_unless_nodes_are_to_stay_where_they_are() -> None:
    assert _pool()["metadata"]["annotations"][labels.ADOPTS_PROVISIONER] == "default"
    apart = convert([a_provisioner()], [], profile=ROLE, adopts=False)
    assert "annotations" not in _only(apart, "NodePool")["metadata"]


def test_equal_input_gives_equal_manifests_and_every_one_is_valid() -> None:
    first, second = (convert([a_provisioner(weight=3)], [a_node_template()], profile=ROLE) for _ in range(2))
    assert first == second
    decode_nodepool(_only(first, "NodePool"))
