from typing import Any

import pytest

from karpenter.sim.controllers.volumes.matching import best_match, mismatch
from karpenter.sim.storagekinds import Volume
from tests.sim.controllers.volumes.storage import a_claim, a_volume


def matched(*volumes: Volume, binds_late: bool = False, **claim: Any) -> str | None:
    found = best_match(a_claim(storageClassName="", **claim), volumes, binds_late=binds_late)
    return found.metadata.name if found is not None else None


def test_the_smallest_volume_that_will_do_is_taken() -> None:
    volumes = a_volume("large", storage="10Gi"), a_volume("small", storage="1Gi"), a_volume("middle", storage="5Gi")
    assert matched(*volumes, storage="2Gi") == "middle"
    assert matched(*volumes, storage="11Gi") is None


def test_a_volume_that_offers_no_more_than_is_asked_for_goes_first() -> None:
    generous = a_volume("generous", storage="1Gi", modes=("ReadWriteOnce", "ReadWriteMany"))
    assert matched(generous, a_volume("plain", storage="5Gi")) == "plain"
    assert matched(generous) == "generous"


@pytest.mark.parametrize(
    "unfit",
    [
        {"storage_class": "gp3"},
        {"modes": ("ReadOnlyMany",)},
        {"volumeMode": "Block"},
        {"phase": "Released"},
        {"claim": "other"},
        {"claim": "data", "uid": "uid-of-an-earlier-one"},
    ],
)
def test_a_volume_of_another_kind_or_of_somebody_else_is_not_taken(unfit: dict[str, Any]) -> None:
    assert matched(a_volume(**unfit)) is None


def test_a_claim_that_selects_takes_volumes_with_its_labels_only() -> None:
    volumes = a_volume("plain"), a_volume("fast", storage="9Gi", labels={"tier": "fast"})
    assert matched(*volumes, selector={"matchLabels": {"tier": "fast"}}) == "fast"


def test_a_volume_kept_for_the_claim_goes_before_all_others_whatever_its_class() -> None:
    assert matched(a_volume("free"), a_volume("kept", storage="9Gi", claim="data", storage_class="slow")) == "kept"


def test_a_claim_that_binds_late_takes_only_what_is_kept_for_it() -> None:
    assert matched(a_volume("free"), binds_late=True) is None
    assert matched(a_volume("free"), a_volume("kept", claim="data"), binds_late=True) == "kept"


@pytest.mark.parametrize(
    "volume, why",
    [
        ({"storage": "1Mi"}, "requested PV is too small"),
        ({"storage_class": "gp3"}, "storageClassName does not match"),
        ({"volumeMode": "Block"}, "incompatible volumeMode"),
        ({"modes": ("ReadOnlyMany",)}, "incompatible accessMode"),
        ({}, None),
    ],
)
def test_what_is_wrong_with_a_volume_asked_for_by_name_is_said(volume: dict[str, Any], why: str | None) -> None:
    assert mismatch(a_volume(**volume), a_claim(storageClassName="")) == why
