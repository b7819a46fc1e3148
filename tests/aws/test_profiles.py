"""Instance profiles come from roles and go with their classes, over the real SDK. Source: spec v1 A-13 … A-15."""

from dataclasses import replace
from typing import Any

import pytest

from karpenter.aws.profiles import InstanceProfiles, ProfileError
from karpenter.aws.session import AwsSession
from karpenter.model.aws.nodeclass import AwsNodeClass
from tests.aws.clocks import HandClock
from tests.awsbuilders import V1, an_aws_node_class

pytestmark = pytest.mark.real_time

MUCH_LATER = 4_000_000_000.0
"""After everything that moto has made by the clock of the wall."""


@pytest.fixture
def profiles(aws: AwsSession, hand_clock: HandClock) -> InstanceProfiles:
    return InstanceProfiles(aws, hand_clock, cluster_name=lambda: "my-cluster")


async def a_role(aws: AwsSession, name: str) -> None:
    await aws.call("iam", "CreateRole", RoleName=name, AssumeRolePolicyDocument="{}")


def of_role(role: str = "nodes", name: str = "default", **fields: Any) -> AwsNodeClass:
    return an_aws_node_class(name, role=role, origin=V1, **fields)


async def roles(aws: AwsSession) -> dict[str, list[str]]:
    """Return the roles of each profile there is."""
    found = (await aws.call("iam", "ListInstanceProfiles"))["InstanceProfiles"]
    return {one["InstanceProfileName"]: [role["RoleName"] for role in one["Roles"]] for one in found}


async def test_a_profile_is_made_from_a_role_once(aws: AwsSession, profiles: InstanceProfiles) -> None:
    """A-13."""
    await a_role(aws, "nodes")
    name = await profiles.profile_of(of_role(tags={"team": "red"}))
    assert await profiles.profile_of(of_role()) == name
    assert await roles(aws) == {name: ["nodes"]}
    made = (await aws.call("iam", "GetInstanceProfile", InstanceProfileName=name))["InstanceProfile"]
    assert made["Path"] == "/karpenter/us-west-2/my-cluster/uid-default/"
    assert {tag["Key"]: tag["Value"] for tag in made["Tags"]} == {
        "team": "red",
        "kubernetes.io/cluster/my-cluster": "owned",
        "eks:eks-cluster-name": "my-cluster",
        "karpenter.k8s.aws/ec2nodeclass": "default",
        "topology.kubernetes.io/region": "us-west-2",
    }
    assert name.startswith("my-cluster_")


async def test_another_role_is_another_profile_and_the_old_one_stays(
    aws: AwsSession, profiles: InstanceProfiles
) -> None:
    """A-13: machines still use it."""
    await a_role(aws, "nodes")
    await a_role(aws, "others")
    old = await profiles.profile_of(of_role("nodes"))
    new = await profiles.profile_of(of_role("path/of/others"))
    assert await roles(aws) == {old: ["nodes"], new: ["others"]}


async def test_a_profile_that_was_left_half_made_is_completed(
    aws: AwsSession, hand_clock: HandClock, profiles: InstanceProfiles
) -> None:
    await a_role(aws, "nodes")
    name = profiles.name_for(of_role())
    await aws.call("iam", "CreateInstanceProfile", InstanceProfileName=name)
    assert await profiles.profile_of(of_role()) == name
    assert await roles(aws) == {name: ["nodes"]}


async def test_a_missing_role_is_named_and_looked_for_again_after_a_minute(
    aws: AwsSession, hand_clock: HandClock, profiles: InstanceProfiles
) -> None:
    """A-14."""
    with pytest.raises(ProfileError, match=r"role 'nodes' does not exist; create it or correct spec\.role") as caught:
        await profiles.profile_of(of_role())
    assert caught.value.reason == "RoleNotFound"
    await a_role(aws, "nodes")
    with pytest.raises(ProfileError):
        await profiles.profile_of(of_role())
    hand_clock.time += 60
    assert await profiles.profile_of(of_role())


async def test_a_profile_of_the_users_own_must_exist(aws: AwsSession, profiles: InstanceProfiles) -> None:
    """A-15."""
    own = of_role("", instance_profile="mine")
    with pytest.raises(ProfileError, match="instance profile 'mine' does not exist"):
        await profiles.profile_of(own)
    await aws.call("iam", "CreateInstanceProfile", InstanceProfileName="mine")
    assert await profiles.profile_of(own) == "mine"


async def test_a_node_template_may_leave_its_profile_to_the_settings(aws: AwsSession, hand_clock: HandClock) -> None:
    """Spec v1alpha5 §1.8."""
    usual = InstanceProfiles(aws, hand_clock, cluster_name=lambda: "my-cluster", default_profile="usual")
    assert await usual.profile_of(an_aws_node_class()) == "usual"
    assert await usual.profile_of(an_aws_node_class(instance_profile="mine")) == "mine"
    none = InstanceProfiles(aws, hand_clock, cluster_name=lambda: "my-cluster")
    with pytest.raises(ProfileError, match=r"set spec\.instanceProfile, or aws\.defaultInstanceProfile"):
        await none.profile_of(an_aws_node_class())


async def test_an_isolated_vpc_has_no_profiles_from_roles(aws: AwsSession, hand_clock: HandClock) -> None:
    """A-15."""
    isolated = InstanceProfiles(aws, hand_clock, cluster_name=lambda: "my-cluster", is_isolated=True)
    with pytest.raises(ProfileError, match="needs IAM"):
        await isolated.profile_of(of_role())
    assert await isolated.profile_of(of_role("", instance_profile="mine")) == "mine"


async def test_profiles_go_with_their_class(aws: AwsSession, profiles: InstanceProfiles) -> None:
    """A-3."""
    await a_role(aws, "nodes")
    gone, kept = of_role(), of_role(name="other")
    await profiles.profile_of(gone)
    name = await profiles.profile_of(kept)
    await profiles.delete_of(gone)
    assert await roles(aws) == {name: ["nodes"]}
    await profiles.delete_of(gone)


async def test_unused_profiles_of_the_cluster_go_after_an_hour(
    aws: AwsSession, hand_clock: HandClock, profiles: InstanceProfiles
) -> None:
    """A-14: not those of machines, nor those of classes, which are asked for all the time."""
    await a_role(aws, "nodes")
    of_machines, of_class = await profiles.profile_of(of_role(name="old")), await profiles.profile_of(of_role())
    await profiles.profile_of(of_role(name="other"))
    await aws.call("iam", "CreateInstanceProfile", InstanceProfileName="somebody-elses")
    await profiles.delete_unused({of_machines})
    assert len(await roles(aws)) == 4
    hand_clock.time = MUCH_LATER
    await profiles.profile_of(of_role())
    await profiles.delete_unused({of_machines})
    assert sorted(await roles(aws)) == sorted([of_machines, of_class, "somebody-elses"])


async def test_a_process_that_has_just_begun_deletes_no_profiles(aws: AwsSession, hand_clock: HandClock) -> None:
    """It does not know yet which its classes have."""
    await aws.call(
        "iam", "CreateInstanceProfile", InstanceProfileName="mine", Path="/karpenter/us-west-2/my-cluster/1/"
    )
    hand_clock.time = MUCH_LATER
    begun = InstanceProfiles(aws, hand_clock, cluster_name=lambda: "my-cluster")
    await begun.delete_unused(())
    assert list(await roles(aws)) == ["mine"]
    hand_clock.time += 3600
    await begun.delete_unused(())
    assert await roles(aws) == {}


def test_a_name_is_legal_however_long_the_clusters_is(aws: AwsSession, hand_clock: HandClock) -> None:
    """A-13: at most 128 characters."""
    long = InstanceProfiles(aws, hand_clock, cluster_name=lambda: "c" * 100 + "d" * 100)
    name = long.name_for(replace(of_role()))
    assert len(name) <= 128
    assert name.rpartition("_")[2].isdecimal()
