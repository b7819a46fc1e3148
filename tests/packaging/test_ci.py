"""The script of CI: what it makes of a control plane that does not build."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e import build

ROOT = Path(__file__).parents[2]
NEEDED = ("bash", "dirname", "mktemp", "rm", "tail")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout of what the script uses itself, on a machine without Go and with a `make` that only builds badly."""
    for name in (".ci/run", "tests/e2e/build.py", "tests/e2e/controlplane/go.mod", "tests/e2e/controlplane/go.sum"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    for folder in (tmp_path / "bin", tmp_path / ".venv" / "bin"):
        folder.mkdir(parents=True)
    (tmp_path / ".venv/bin/python").symlink_to(sys.executable)
    for name in NEEDED:
        (tmp_path / "bin" / name).symlink_to(shutil.which(name) or name)
    a_program(tmp_path, "make", 'echo "made $*"; [[ $* != *controlplane* ]]')
    return tmp_path


def a_program(checkout: Path, name: str, does: str) -> None:
    path = checkout / "bin" / name
    path.write_text(f"#!{checkout / 'bin' / 'bash'}\n{does}\n", encoding="utf-8")
    path.chmod(0o755)


def run(checkout: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": str(checkout / "bin")}
    return subprocess.run([checkout / ".ci/run"], env=environment, capture_output=True, text=True, check=False)


def test_a_machine_without_go_says_aloud_what_it_did_not_test(checkout: Path) -> None:
    done = run(checkout)
    assert (done.returncode, "NOT TESTED" in done.stderr) == (0, True)
    assert "made --no-print-directory test" in done.stdout


def test_a_machine_without_a_module_proxy_says_aloud_what_it_did_not_test(checkout: Path) -> None:
    a_program(checkout, "go", "echo 'dial tcp: connection refused' >&2; exit 1")
    done = run(checkout)
    assert (done.returncode, "NOT TESTED" in done.stderr) == (0, True)


def test_a_build_that_breaks_where_it_is_possible_is_a_failure(checkout: Path) -> None:
    a_program(checkout, "go", "exit 0")
    done = run(checkout)
    assert (done.returncode, "FAILED: the real control plane" in done.stderr) == (1, True)
    assert "made --no-print-directory e2e" not in done.stdout


def test_a_control_plane_that_builds_is_tested_against(checkout: Path) -> None:
    a_program(checkout, "make", 'echo "made $*, CI=$CI"')
    done = run(checkout)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "made --no-print-directory e2e, CI=true"


def test_the_module_that_is_fetched_to_see_whether_one_can_is_one_that_the_build_needs() -> None:
    assert build.version(build.SMALL_MODULE)
