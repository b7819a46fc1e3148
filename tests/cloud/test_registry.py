"""Providers as plug-ins."""

import sys
from pathlib import Path

import pytest

from karpenter.cloud.registry import UnknownProviderError, provider_factory, provider_names


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package on the path that announces a working provider and one whose module is missing."""
    (tmp_path / "nimbus.py").write_text("def make(context):\n    return 'a provider'\n", encoding="utf-8")
    info = tmp_path / "nimbus-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: nimbus\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(
        "[karpenter.cloud_providers]\nnimbus = nimbus:make\nbroken = nowhere:make\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "nimbus", raising=False)


@pytest.mark.usefixtures("plugins")
def test_an_installed_provider_is_found_by_its_entry_point() -> None:
    assert "nimbus" in provider_names()
    assert provider_factory("nimbus")(None) == "a provider"  # type: ignore[arg-type]


@pytest.mark.usefixtures("plugins")
def test_an_unknown_name_gets_the_nearest_one_and_all_of_them() -> None:
    with pytest.raises(
        UnknownProviderError, match=r"no cloud provider 'nimbis'; did you mean 'nimbus'\? installed: .*broken, .*nimbus"
    ):
        provider_factory("nimbis")


@pytest.mark.usefixtures("plugins")
def test_a_provider_that_cannot_be_imported_says_why() -> None:
    with pytest.raises(UnknownProviderError, match=r"'broken' \(nowhere:make\) cannot be loaded: No module"):
        provider_factory("broken")
