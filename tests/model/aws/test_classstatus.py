"""What a node class's conditions say. Source: spec v1 §1.8, A-16."""

from karpenter.model.aws.classstatus import is_there, problems, refused, rolled_up, selects_nothing
from karpenter.model.errors import FieldError, ManifestError
from karpenter.model.meta import Condition

NO_SUBNETS = selects_nothing("SubnetsReady", "web", "make one")
NO_IMAGES = selects_nothing("AMIsReady", "web", "wait for one", family="AL2")


def told(conditions: tuple[Condition, ...]) -> dict[str, tuple[str, str, str]]:
    return {one.type: (one.status, one.reason, one.message) for one in conditions}


def test_a_class_is_ready_when_all_is_there() -> None:
    assert told(rolled_up([is_there("SubnetsReady")], ())) == {
        "SubnetsReady": ("True", "", ""),
        "ValidationSucceeded": ("True", "", ""),
        "Ready": ("True", "", ""),
    }


def test_ready_says_everything_that_is_missing_and_only_that() -> None:
    found = told(rolled_up([NO_SUBNETS, is_there("SecurityGroupsReady"), NO_IMAGES], ()))
    assert found["SubnetsReady"] == (
        "False",
        "SubnetsNotFound",
        "node class 'web' selects no subnets; make one",
    )
    assert found["ValidationSucceeded"][:2] == ("False", "DependenciesNotReady")
    assert found["Ready"] == ("False", "UnhealthyDependents", f"{NO_SUBNETS.message}; {NO_IMAGES.message}")
    assert problems([NO_SUBNETS, NO_IMAGES]) == found["Ready"][2]


def test_a_class_that_fails_its_validation_says_why_itself() -> None:
    denied = Condition("ValidationSucceeded", "False", "CreateFleetAuthCheckFailed", "allow ec2:CreateFleet")
    found = told(rolled_up([is_there("SubnetsReady"), denied], ()))
    assert found["Ready"] == ("False", "UnhealthyDependents", "allow ec2:CreateFleet")


def test_an_account_that_cannot_be_asked_has_not_lost_what_it_had() -> None:
    """Machines go on being launched while a call is throttled."""
    unknown = Condition("SubnetsReady", "Unknown", "CallFailed", "DescribeSubnets is throttled")
    assert told(rolled_up([unknown], [is_there("SubnetsReady")]))["Ready"][0] == "True"
    assert told(rolled_up([unknown], [NO_SUBNETS]))["Ready"][0] == "False"
    assert told(rolled_up([unknown], []))["Ready"] == ("Unknown", "CallFailed", "DescribeSubnets is throttled")


def test_a_verdict_that_cannot_be_had_is_not_that_something_is_missing() -> None:
    before = rolled_up([NO_SUBNETS], ())
    unknown = Condition("ValidationSucceeded", "Unknown", "CallFailed", "CreateFleet is throttled")
    assert told(rolled_up([is_there("SubnetsReady"), unknown], before))["Ready"][0] == "Unknown"


def test_what_breaks_a_rule_is_named_by_the_part_of_the_class() -> None:
    """A-16."""
    paths = {
        "spec.kubelet.maxPods": "InvalidKubeletConfiguration",
        "spec.tags.x": "TagValidationFailed",
        "spec.blockDeviceMappings[0]": "InvalidNodeClass",
    }
    for path, reason in paths.items():
        conditions = refused(ManifestError("EC2NodeClass web", [FieldError(path, "is wrong")]))
        assert told(conditions)["ValidationSucceeded"] == ("False", reason, f"EC2NodeClass web: {path}: is wrong")
