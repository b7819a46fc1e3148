"""Settings come from flags, then the environment, then defaults; mistakes are answered in one helpful sentence."""

from pathlib import Path

import pytest

from karpenter.app.errors import SettingsError
from karpenter.app.settings import SETTINGS, Settings, read_settings, shown, table, value_of
from karpenter.provisioning.batcher import BatchWindow
from karpenter.scheduling.policy import Policy

UNKNOWN = "unknown field; known are defaultConstraints"
DOCUMENT = Path(__file__).parents[2] / "docs" / "settings.md"


def test_without_flags_and_variables_every_setting_has_its_default() -> None:
    assert read_settings([], {}) == Settings(batch=BatchWindow(1.0, 10.0), policy=Policy())


def test_flags_set_values_of_every_form() -> None:
    flags = ["batch.idleDuration=1m30s", "policy.nodeFee=0.02", "policy.maxPodsPerNode=58", "policy.rails=off"]
    flags.append("policy.expendablePriority=-5")
    expected = Settings(
        batch=BatchWindow(idle_s=90.0),
        policy=Policy(node_fee=0.02, max_pods_per_node=58, rails=False, expendable_priority=-5),
    )
    assert read_settings(flags, {}) == expected


def test_karpenters_own_variables_are_understood() -> None:
    environment = {"BATCH_MAX_DURATION": "20s", "BATCH_IDLE_DURATION": "2s", "PREFERENCE_POLICY": "Ignore"}
    expected = Settings(batch=BatchWindow(2.0, 20.0), policy=Policy(preferences="Ignore"))
    assert read_settings([], environment) == expected


def test_a_flag_wins_over_its_variable_and_the_last_flag_over_the_others() -> None:
    flags = ["batch.idleDuration=3s", "batch.idleDuration=4s"]
    assert read_settings(flags, {"BATCH_IDLE_DURATION": "2s"}).batch.idle_s == 4.0


def test_s39_default_spread_is_a_document_of_the_schedulers_configuration() -> None:
    document = (
        "podTopologySpread: {defaultConstraints: [{maxSkew: 2, topologyKey: rack, whenUnsatisfiable: ScheduleAnyway}]}"
    )
    (constraint,) = read_settings([], {"SCHEDULER_CONFIG": document}).policy.default_spread
    assert (constraint.max_skew, constraint.topology_key) == (2, "rack")
    (row,) = (setting for setting in SETTINGS if setting.key == "policy.defaultSpread")
    again = read_settings([f"policy.defaultSpread={row.form.show((constraint,))}"], {})
    assert again.policy.default_spread == (constraint,)


def test_an_empty_variable_is_as_good_as_none() -> None:
    assert read_settings([], {"BATCH_IDLE_DURATION": ""}) == Settings()


@pytest.mark.parametrize(
    "flag, sentence",
    [
        ("policy.nodefee=1", "--set policy.nodefee: there is no such setting, did you mean policy.nodeFee?"),
        ("batch.idle=1s", "--set batch.idle: there is no such setting, did you mean batch.idleDuration?"),
        ("policy.rails", "--set policy.rails: a value is missing, write policy.rails=VALUE"),
        (
            "policy.defaultSpread={podTopologySpread: {defaultConstraint: []}}",
            f"--set policy.defaultSpread: podTopologySpread.defaultConstraint: {UNKNOWN}",
        ),
        ("policy.defaultSpread={", "--set policy.defaultSpread: '{' is neither YAML nor `none`"),
        ("policy.rails=maybe", "--set policy.rails: 'maybe' is neither on nor off"),
        ("policy.nodeFee=-1", "--set policy.nodeFee: '-1' is not a number of 0 or more"),
        ("policy.nodeFee=nan", "--set policy.nodeFee: 'nan' is not a number of 0 or more"),
        ("policy.maxPodsPerNode=0", "--set policy.maxPodsPerNode: '0' is not a whole number of 1 or more"),
        ("policy.expendablePriority=low", "--set policy.expendablePriority: 'low' is neither a whole number nor none"),
        ("metrics.port=70000", "--set metrics.port: '70000' is not a port"),
        ("aws.reservedENIs=-1", "--set aws.reservedENIs: '-1' is not a whole number of 0 or more"),
        ("policy.preferences=ignore", "--set policy.preferences: 'ignore' is not one of Respect, Ignore"),
        ("batch.idleDuration=0s", "--set batch.idleDuration: '0s' is not longer than 0s"),
        (
            "batch.maxDuration=10",
            "--set batch.maxDuration: '10' is not a duration such as 30s or 1m30s",
        ),
    ],
)
def test_a_wrong_flag_is_answered_in_one_sentence(flag: str, sentence: str) -> None:
    with pytest.raises(SettingsError) as raised:
        read_settings([flag], {})
    assert str(raised.value) == sentence


def test_a_key_like_no_other_is_answered_with_all_keys() -> None:
    with pytest.raises(SettingsError, match=r"write one of batch\.idleDuration, .*policy\.rails"):
        read_settings(["xyzzy=1"], {})


def test_a_wrong_variable_is_named() -> None:
    with pytest.raises(SettingsError, match=r"^BATCH_MAX_DURATION: 'soon' is not a duration"):
        read_settings([], {"BATCH_MAX_DURATION": "soon"})


def test_a_part_is_shown_by_the_names_of_the_table() -> None:
    policy = shown(read_settings(["policy.rails=off"], {}), "policy")
    assert policy["nodeFee"] == 0.01
    assert policy["rails"] is False
    assert policy["largestNode"] == 64
    keys = {setting.key for setting in SETTINGS if setting.key.startswith("policy.")}
    assert keys == {f"policy.{key}" for key in policy}


def test_every_default_reads_back_as_itself() -> None:
    defaults = Settings()
    flags = [f"{setting.key}={setting.form.show(value_of(defaults, setting))}" for setting in SETTINGS]
    assert read_settings(flags, {}) == defaults


def test_the_documentation_holds_the_table_as_it_is() -> None:
    assert table() in DOCUMENT.read_text(encoding="utf-8"), "python tools/settings_table.py writes it anew"
