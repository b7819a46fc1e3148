"""From the selectors of an AWSNodeTemplate to selector terms (API-50, AWS-60, AWS-61)."""

import pytest

from karpenter.model.aws.nodeclass import AwsNodeClass, SelectorTerm
from karpenter.model.aws.nodeclasses import decode_aws_node_template
from tests.builders import a_node_template
from tests.refusals import paths_of


def decode(**spec) -> AwsNodeClass:
    return decode_aws_node_template(a_node_template(**spec))


def test_tags_must_all_match() -> None:
    assert decode(subnetSelector={"a": "1", "b": "*"}).subnet_terms == (SelectorTerm(tags={"a": "1", "b": "*"}),)


def test_values_separated_by_commas_are_alternatives() -> None:
    """AWS-60."""
    assert decode(subnetSelector={"a": "1, 2", "b": "3,4"}).subnet_terms == (
        SelectorTerm(tags={"a": "1", "b": "3"}),
        SelectorTerm(tags={"a": "1", "b": "4"}),
        SelectorTerm(tags={"a": "2", "b": "3"}),
        SelectorTerm(tags={"a": "2", "b": "4"}),
    )


@pytest.mark.parametrize("key", ["aws-ids", "aws::ids"])
def test_each_id_is_a_term(key: str) -> None:
    """TV-26, AWS-60."""
    ids = decode(securityGroupSelector={key: "sg-12ab,sg-9"}).security_group_terms
    assert ids == (SelectorTerm(id="sg-12ab"), SelectorTerm(id="sg-9"))


def test_images_are_chosen_by_name_and_owner_too() -> None:
    """AWS-61."""
    selector = {"aws::name": "al2-*", "aws::owners": "self,amazon", "team": "a"}
    assert decode(amiSelector=selector).ami_terms == (
        SelectorTerm(tags={"team": "a"}, name="al2-*", owner="self"),
        SelectorTerm(tags={"team": "a"}, name="al2-*", owner="amazon"),
    )


def test_without_an_owner_the_term_leaves_it_open() -> None:
    """AWS-61."""
    assert decode(amiSelector={"aws::name": "mine"}).ami_terms == (SelectorTerm(name="mine"),)


@pytest.mark.parametrize(
    "selector, path",
    [
        ({"Name": ""}, ".Name"),
        ({"Name": "a,,b"}, ".Name"),
        ({"": "a"}, ""),
        ({"aws-ids": "sn-1"}, "[aws-ids]"),
        ({"aws-ids": "sg-1"}, "[aws-ids]"),
        ({"aws-ids": "subnet-1", "Name": "a"}, "[aws-ids]"),
        ({}, ""),
        ({"Name": 1}, ".Name"),
        ({"Name": None}, ".Name"),
    ],
)
def test_keys_and_values_are_not_empty_and_ids_stand_alone(selector: dict, path: str) -> None:
    """TV-26, API-50."""
    assert paths_of(decode_aws_node_template, a_node_template(subnetSelector=selector)) == [
        f"spec.subnetSelector{path}"
    ]


def test_a_selector_of_a_great_many_combinations_is_refused() -> None:
    many = ",".join(str(number) for number in range(40))
    assert paths_of(decode_aws_node_template, a_node_template(subnetSelector={"a": many, "b": many})) == [
        "spec.subnetSelector"
    ]
