"""Karpenter's FEATURE_GATES (spec v1 §5.1)."""

import pytest

from karpenter.app.errors import SettingsError
from karpenter.app.settings import read_settings


def test_gates_set_what_they_stand_for() -> None:
    settings = read_settings(
        [], {"FEATURE_GATES": "NodeRepair=false, SpotToSpotConsolidation=false, ReservedCapacity=false"}
    )
    assert (settings.repair.enabled, settings.policy.spot_to_spot, settings.absent) == (False, False, ())
    assert not settings.policy.reservations


def test_a_flag_wins_over_a_gate() -> None:
    assert read_settings(["repair.enabled=on"], {"FEATURE_GATES": "NodeRepair=false"}).repair.enabled


def test_names_that_nobody_knows_are_ignored() -> None:
    assert read_settings([], {"FEATURE_GATES": "Drift=true,Anything=false"}) == read_settings([], {})


def test_what_is_asked_for_and_not_there_is_said() -> None:
    gates = "NodeOverlay=true,StaticCapacity=false,CapacityBuffer=true"
    assert read_settings([], {"FEATURE_GATES": gates}).absent == ("NodeOverlay", "CapacityBuffer")


@pytest.mark.parametrize("text", ["NodeRepair", "NodeRepair=yes", "=x"])
def test_an_entry_that_is_no_gate_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match=r"FEATURE_GATES: .* is not NAME=true or NAME=false"):
        read_settings([], {"FEATURE_GATES": text})
