"""The built wheel works by itself: in an environment that has its declared dependencies and nothing else of ours.

Needs no registry: the dependencies are lent from the environment that runs the tests.
"""

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Iterator
from importlib.metadata import distribution, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
EXPECTED_FILES = ("karpenter/py.typed", "LICENSE", "NOTICE", "entry_points.txt")

IMPORT_EVERYTHING = """
import importlib, pkgutil, karpenter
for module in pkgutil.walk_packages(karpenter.__path__, "karpenter."):
    if not module.name.endswith(("__main__", "conformance")):  # the conformance suites are for pytest
        importlib.import_module(module.name)
print(karpenter.__file__)
"""

WHAT_VERSION_LOADS = """
import sys
from karpenter.app.cli import app
app(["version"], result_action="return_value")
print(*sys.modules)
"""


def run(*command: str | Path, cwd: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def declared_dependencies(name: str, seen: set[str]) -> Iterator[str]:
    """Yield `name` and all that it needs, and what those need, without extras that nobody asked for."""
    if canonicalize_name(name) in seen:
        return
    seen.add(canonicalize_name(name))
    yield name
    for line in distribution(name).requires or ():
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield from declared_dependencies(requirement.name, seen)


def lend(name: str, site_packages: Path) -> None:
    """Link what the distribution `name` put into this environment's site-packages into another one's."""
    ours = Path(sysconfig.get_path("purelib"))
    for top in {file.parts[0] for file in distribution(name).files or ()} - {"..", "__pycache__", "bin"}:
        if not (site_packages / top).exists():
            (site_packages / top).symlink_to(ours / top)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of commands of a clean environment with the wheel installed."""
    home = tmp_path_factory.mktemp("clean")
    venv.create(home, symlinks=True)
    pip = (sys.executable, "-m", "pip", "--python", home / "bin" / "python", "--disable-pip-version-check")
    run(*pip, "install", "--quiet", "--no-index", "--no-deps", "--no-compile", wheel, cwd=home)
    site_packages = next(home.glob("lib/python*/site-packages"))
    for name in declared_dependencies("pykarpenter", set()):
        if name != "pykarpenter":
            lend(name, site_packages)
    return home / "bin"


def test_the_wheel_holds_types_licence_and_command(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert [file for file in EXPECTED_FILES if not any(name.endswith(file) for name in names)] == []


def test_the_command_runs_from_the_wheel(environment: Path, tmp_path: Path) -> None:
    assert run(environment / "karpenter", "version", cwd=tmp_path) == version("pykarpenter")


def test_every_module_imports_with_nothing_but_the_declared_dependencies(environment: Path, tmp_path: Path) -> None:
    imported_from = run(environment / "python", "-c", IMPORT_EVERYTHING, cwd=tmp_path)
    assert imported_from.startswith(str(environment.parent))


def test_the_version_is_printed_without_loading_what_other_commands_need(tmp_path: Path) -> None:
    loaded = set(run(sys.executable, "-c", WHAT_VERSION_LOADS, cwd=tmp_path).split())
    assert loaded & {"aiohttp", "boto3", "cryptography", "highspy", "msgspec", "numpy", "rich", "uvloop"} == set()
