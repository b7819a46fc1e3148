"""Reading one object of a manifest field by field."""

import pytest

from karpenter.model.errors import FieldError
from karpenter.model.reading import Reader, shown


def test_a_field_that_nobody_asked_for_is_unknown_at_every_depth() -> None:
    reader = Reader({"a": {"x": 1}, "b": [{"y": 1}], "c": 1}, "spec")
    reader.part("a")
    reader.parts("b")
    reader.finish()
    assert [error.path for error in reader.errors] == ["spec.c", "spec.a.x", "spec.b[0].y"]


def test_a_field_is_known_once_it_was_asked_for_by_any_means() -> None:
    reader = Reader({"a": None, "b": "x", "c": {"d": "1"}, "e": 5})
    assert (reader.has("a"), reader.text("b"), reader.texts("c"), reader.unread()) == (False, "x", {"d": "1"}, {"e": 5})
    reader.finish()
    assert reader.errors == []


def test_an_error_that_is_found_twice_is_told_once() -> None:
    reader = Reader({"a": 1})
    reader.string("a")
    reader.string("a")
    assert reader.errors == [FieldError("a", "expected a string, got the number 1", 'write "1"')]


def test_a_required_field_of_the_wrong_type_is_not_missing_too() -> None:
    reader = Reader({"a": 1, "b": ""})
    for name in ("a", "b", "c"):
        reader.string(name, required=True)
    assert [(error.path, error.reason) for error in reader.errors] == [
        ("a", "expected a string, got the number 1"),
        ("b", "is required and must not be empty"),
        ("c", "is required and must not be empty"),
    ]


def test_a_key_that_yaml_made_a_number_is_named() -> None:
    reader = Reader({"labels": {1: "x", "z": "w"}}, "spec")
    assert reader.texts("labels") == {"z": "w"}
    assert reader.errors == [FieldError("spec.labels", "key the number 1 is not a string", "put it in quotes")]


def test_an_unknown_field_whose_name_yaml_made_a_boolean_is_named() -> None:
    reader = Reader({True: 1}, "spec")
    reader.finish()
    assert [error.path for error in reader.errors] == ["spec.True"]


@pytest.mark.parametrize(
    "name, path",
    [
        ("weight", "spec.weight"),
        ("example.com/x", "spec[example.com/x]"),
        ("values[0]", "spec.values[0]"),
        ("aws-ids", "spec[aws-ids]"),
    ],
)
def test_paths_are_spelled_as_users_know_them(name: str, path: str) -> None:
    assert Reader({}, "spec").at(name) == path


@pytest.mark.parametrize(
    "value, text",
    [
        (None, "null"),
        (True, "true"),
        (7, "the number 7"),
        (1.5, "the number 1.5"),
        ("x", "the string 'x'"),
        ("x" * 61, "a long string"),
        ([1], "a list"),
        ({"a": 1}, "an object"),
    ],
)
def test_values_are_shown_with_their_type(value: object, text: str) -> None:
    assert shown(value) == text
