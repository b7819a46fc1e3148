"""Rules in CEL: what they see, when they are asked, in which words they refuse."""

from typing import Any

import pytest

from karpenter.runtime.kube import Invalid
from tests.runtime.kubememory.api import Api, a_widget


def define(api: Api, *rules: dict[str, Any], **properties: Any) -> None:
    spec = {"type": "object", "properties": properties, "x-kubernetes-validations": list(rules)}
    api.define(schema={"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}})


def told(caught: pytest.ExceptionInfo[Invalid]) -> list[tuple[str, str, str]]:
    return [(cause["field"], cause["reason"], cause["message"]) for cause in caught.value.details["causes"]]


NUMBER = {"type": "integer"}
ORDERED = {"rule": "self.low <= self.high", "message": "low is above high", "fieldPath": ".low"}


def test_a_rule_over_several_fields_is_kept(api: Api) -> None:
    define(api, ORDERED, low=NUMBER, high=NUMBER)
    api.create(a_widget("fine", low=1, high=2))
    with pytest.raises(Invalid) as caught:
        api.create(a_widget("wrong", low=3, high=2))
    assert told(caught) == [("spec.low", "FieldValueInvalid", "Invalid value: low is above high")]


def test_a_rule_without_words_of_its_own_is_quoted(api: Api) -> None:
    define(api, {"rule": "self.low > 0", "reason": "FieldValueForbidden"}, low=NUMBER)
    with pytest.raises(Invalid) as caught:
        api.create(a_widget(low=0))
    assert told(caught) == [("spec", "FieldValueForbidden", "Forbidden: failed rule: self.low > 0")]


def test_a_rule_that_cannot_be_evaluated_refuses(api: Api) -> None:
    define(api, ORDERED, low=NUMBER, high=NUMBER)
    with pytest.raises(Invalid, match="rule evaluation error"):
        api.create(a_widget(low=1))


def test_a_rule_on_a_change_is_asked_only_when_something_changes(api: Api) -> None:
    define(api, {"rule": "self.low == oldSelf.low", "message": "low stays"}, low=NUMBER, high=NUMBER)
    api.create(a_widget("w", low=1))
    api.patch("widgets", "w", {"spec": {"high": 5}})
    with pytest.raises(Invalid, match="low stays"):
        api.patch("widgets", "w", {"spec": {"low": 2}})


def test_a_value_that_an_update_leaves_alone_is_not_judged_anew(api: Api) -> None:
    define(api, low=NUMBER, high=NUMBER)
    api.create(a_widget("w", low=3, high=2))
    definition = api.get("customresourcedefinitions", "widgets.example.com")
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["x-kubernetes-validations"] = [
        ORDERED
    ]
    api.patch("customresourcedefinitions", "widgets.example.com", {"spec": definition["spec"]})
    api.patch("widgets", "w", {"metadata": {"labels": {"a": "b"}}})
    with pytest.raises(Invalid, match="low is above high"):
        api.patch("widgets", "w", {"spec": {"low": 4}})


def test_rules_are_not_asked_about_an_object_of_the_wrong_shape(api: Api) -> None:
    define(api, ORDERED, low=NUMBER, high=NUMBER)
    with pytest.raises(Invalid) as caught:
        api.create(a_widget(low="3", high=2))
    fields = [field for field, _, _ in told(caught)]
    assert fields == ["spec.low", "<nil>"]
    assert "some validation rules were not checked" in told(caught)[1][2]
