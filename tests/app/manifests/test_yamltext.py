"""YAML means what it means to kubectl."""

import pytest
import yaml

from karpenter.app.manifests.yamltext import ManifestLoader


@pytest.mark.parametrize(
    "text, value",
    [
        ("2026-11-30T12:00:00Z", "2026-11-30T12:00:00Z"),
        ("2026-11-30", "2026-11-30"),
        ("22:22", "22:22"),
        ("0644", 420),
        ("0o17", 15),
        ("08", "08"),
        ("0x1F", 31),
        ("-3", -3),
        ("1_000", 1000),
        ("1e3", 1000.0),
        ("1.5", 1.5),
        ("5%", "5%"),
        ("1m30s", "1m30s"),
        ("500Mi", "500Mi"),
        ('"4"', "4"),
        ("yes", True),
        ("~", None),
    ],
)
def test_a_plain_word_is_what_kubectl_takes_it_for(text: str, value: object) -> None:
    assert yaml.load(f"key: {text}", ManifestLoader) == {"key": value}


def test_merge_keys_work_and_may_repeat_what_they_override() -> None:
    text = "base: &base {a: 1, b: 2}\nuse:\n  <<: *base\n  b: 3\n"
    assert yaml.load(text, ManifestLoader)["use"] == {"a": 1, "b": 3}


def test_a_key_given_twice_is_an_error_at_its_second_place() -> None:
    with pytest.raises(yaml.MarkedYAMLError) as raised:
        yaml.load("spec:\n  cpu: 1\n  cpu: 2\n", ManifestLoader)
    assert (raised.value.problem, raised.value.problem_mark.line) == ("key 'cpu' is given twice", 2)
