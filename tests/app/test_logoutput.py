"""Where the log goes (spec v1 §5.1, LOG_OUTPUT_PATHS)."""

import json
from pathlib import Path

import pytest

from karpenter.app.errors import SettingsError
from karpenter.app.logoutput import logged_to
from karpenter.app.settings import read_settings
from karpenter.runtime import logs
from karpenter.runtime.clock import LoopClock, WallClock


async def test_a_line_goes_to_every_place_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], clock: LoopClock
) -> None:
    file = tmp_path / "log"
    paths = read_settings([], {"LOG_OUTPUT_PATHS": f"stderr,{file},stderr"}).process.log_output
    with logged_to(paths, clock, level="info"):
        logs.get("test").info("something happened", node="n")
    logs.get("test").info("nobody listens any more")
    (line,) = file.read_text().splitlines()
    assert (json.loads(line)["message"], json.loads(line)["node"]) == ("something happened", "n")
    assert capsys.readouterr().err.splitlines() == [line]


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(SettingsError, match=r"log\.outputPaths: .* cannot be written: Is a directory"),
        logged_to([str(tmp_path)], WallClock(), level="info"),
    ):
        pass


def test_no_place_at_all_is_refused() -> None:
    with pytest.raises(SettingsError, match="names no place"):
        read_settings(["log.outputPaths=,"], {})
