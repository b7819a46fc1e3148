"""What `docs/aws` asks an account for is what the code calls, and no more. Source: spec v1 §4.13, v1alpha5 §6.6."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import botocore.session
import pytest
import yaml

from karpenter.model.aws.tags import CLAIM, CLAIM_UID

ROOT = Path(__file__).parents[2]
SERVICES = ("ec2", "eks", "iam", "pricing", "sqs", "ssm")
IMPLIED = {
    "iam:PassRole": "an instance gets the role of its profile",
    "iam:TagInstanceProfile": "profiles are tagged as they are made",
    "ec2:CreateTags": "what is launched is tagged as it is launched",
    "ec2:RunInstances": "a fleet runs instances",
}
"""What is never called by itself, but checked within another call."""


ALLOWED_BY = {"sqs:DeleteMessageBatch": "sqs:DeleteMessage"}
"""Operations that have no action of their own."""


def policy() -> list[dict[str, Any]]:
    return json.loads((ROOT / "docs" / "aws" / "controller-policy.json").read_text(encoding="utf-8"))["Statement"]


def as_list(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def allowed() -> set[str]:
    return {action for statement in policy() for action in as_list(statement["Action"])}


def called() -> set[str]:
    """Return the actions that the provider calls: every literal in it that names an operation of a service."""
    operations = {
        operation: service
        for service in SERVICES
        for operation in botocore.session.get_session().get_service_model(service).operation_names
    }
    sources = sorted((ROOT / "src" / "karpenter" / "aws").rglob("*.py"))
    actions = {
        f"{operations[text]}:{text}"
        for path in sources
        for text in literals(ast.parse(path.read_text(encoding="utf-8")))
        if text in operations
    }
    return {ALLOWED_BY.get(action, action) for action in actions}


def literals(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_every_action_that_is_called_is_allowed() -> None:
    assert called() - allowed() == set()


def test_nothing_is_allowed_that_is_not_called() -> None:
    assert allowed() - called() - set(IMPLIED) == set()


def test_only_what_carries_the_clusters_tag_can_be_changed_or_ended() -> None:
    """Spec v1 §4.13."""
    changing = re.compile(r"[a-z0-9]+:(Create|Delete|Terminate|Tag|Add|Remove)")
    tag = re.compile(r"aws:(Request|Resource)Tag/kubernetes\.io/cluster/\$\{CLUSTER_NAME\}")
    for statement in policy():
        actions = [action for action in as_list(statement["Action"]) if changing.match(action)]
        untagged = statement["Sid"] in {"LaunchFrom", "HearInterruptions"}  # other people's images; our own queue
        conditions = statement.get("Condition", {}).get("StringEquals", {})
        assert untagged or not actions or any(tag.fullmatch(key) for key in conditions), statement["Sid"]


def test_machines_may_be_tagged_with_their_claim_and_nothing_else() -> None:
    """A-47: what `Ownership` writes onto instances that a fleet could not tag one by one."""
    (statement,) = (one for one in policy() if one["Sid"] == "TagMachinesOfTheCluster")
    assert statement["Condition"]["ForAllValues:StringEquals"]["aws:TagKeys"] == [CLAIM, CLAIM_UID]


def test_the_node_role_is_passed_to_ec2_alone() -> None:
    (statement,) = (one for one in policy() if "iam:PassRole" in as_list(one["Action"]))
    assert statement["Condition"]["StringEquals"]["iam:PassedToService"][0] == "ec2.amazonaws.com"
    assert statement["Resource"].endswith("role/${NODE_ROLE}")


def test_the_policy_is_small_enough_for_iam() -> None:
    """A managed policy has at most 6144 characters, white space apart; names in it may be long."""
    text = (ROOT / "docs" / "aws" / "controller-policy.json").read_text(encoding="utf-8")
    assert len(re.sub(r"\s", "", re.sub(r"\$\{[A-Z_]+\}", "n" * 20, text))) <= 6144


def test_every_placeholder_of_the_policy_is_explained() -> None:
    text = (ROOT / "docs" / "aws" / "controller-policy.json").read_text(encoding="utf-8")
    told = (ROOT / "docs" / "aws" / "README.md").read_text(encoding="utf-8")
    missing = {name for name in re.findall(r"\$\{([A-Z_]+)\}", text) if f"{name}=" not in told}
    assert missing == set()


# --- the queue --------------------------------------------------------------------------------------------------------


class _Template(yaml.SafeLoader):
    """Reads CloudFormation's short forms as what they name."""


_Template.add_multi_constructor("!", lambda loader, _, node: loader.construct_scalar(node))


def resources(kind: str) -> list[dict[str, Any]]:
    template = yaml.load((ROOT / "docs" / "aws" / "interruption-queue.yaml").read_text(encoding="utf-8"), _Template)
    return [one["Properties"] for one in template["Resources"].values() if one["Type"] == kind]


@pytest.mark.parametrize(
    "source, kind",
    [
        ("aws.ec2", "EC2 Spot Instance Interruption Warning"),
        ("aws.ec2", "EC2 Instance Rebalance Recommendation"),
        ("aws.health", "AWS Health Event"),
        ("aws.ec2", "EC2 Instance State-change Notification"),
    ],
)
def test_each_kind_of_notice_has_a_rule_that_leads_into_the_queue(source: str, kind: str) -> None:
    """INT-5, INT-9."""
    rules = [
        rule
        for rule in resources("AWS::Events::Rule")
        if source in rule["EventPattern"]["source"] and kind in rule["EventPattern"]["detail-type"]
    ]
    assert [target["Arn"] for rule in rules for target in rule["Targets"]] == ["Queue.Arn"]


def test_the_queue_keeps_notices_for_five_minutes_and_lets_events_in() -> None:
    """INT-9."""
    (queue,) = resources("AWS::SQS::Queue")
    assert queue["MessageRetentionPeriod"] == 300
    (access,) = resources("AWS::SQS::QueuePolicy")
    services = access["PolicyDocument"]["Statement"][0]["Principal"]["Service"]
    assert services == ["events.amazonaws.com", "sqs.amazonaws.com"]
