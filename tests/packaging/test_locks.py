"""The lock files pin everything that the project asks for, and say nothing of where it came from."""

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
RUNTIME = PROJECT["project"]["dependencies"]
EXTRAS = [line for lines in PROJECT["project"]["optional-dependencies"].values() for line in lines]
DEV = PROJECT["dependency-groups"]["dev"]
LOCKS = {"requirements.lock": RUNTIME, "requirements-dev.lock": [*RUNTIME, *EXTRAS, *DEV]}


def pins(lock: str) -> dict[str, str]:
    lines = (ROOT / lock).read_text(encoding="utf-8").splitlines()
    requirements = [Requirement(line.rstrip("\\ ")) for line in lines if line[:1].isalnum()]
    return {canonicalize_name(each.name): str(each.specifier).removeprefix("==") for each in requirements}


@pytest.mark.parametrize("lock", LOCKS)
def test_every_dependency_is_pinned_to_a_version_that_the_project_allows(lock: str) -> None:
    pinned = pins(lock)
    wanted = [Requirement(line) for line in LOCKS[lock]]
    assert [str(each) for each in wanted if pinned.get(canonicalize_name(each.name), "0") not in each.specifier] == []


def test_both_locks_agree() -> None:
    assert pins("requirements.lock").items() <= pins("requirements-dev.lock").items()


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_names_no_registry(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    assert [word for word in ("://", "--index-url", "--find-links", " @ ") if word in text] == []
