"""The same scenarios on both clusters, embedded and real: kubectl prints the same, and the API holds the same.

What differs and is meant to is named in `differences.py`; whatever else differs fails the scenario.
"""

import difflib
import importlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.e2e.twins.clusters import Cluster, Place, embedded_place, real_place
from tests.e2e.twins.differences import DIFFERENCES, table
from tests.e2e.twins.stage import SCENARIOS
from tests.e2e.twins.transcript import Step, Transcript

HERE = Path(__file__).parent
for file in sorted((HERE / "scenarios").glob("*.py")):
    importlib.import_module(f"tests.e2e.twins.scenarios.{file.stem}")

DOCUMENT = HERE.parents[2] / "docs" / "embedded-cluster.md"

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def embedded(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with embedded_place(programs / "kubectl", tmp_path_factory.mktemp("embedded")) as place:
        yield place


@pytest.fixture(scope="module")
def real(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with real_place(programs, tmp_path_factory.mktemp("real") / "home") as place:
        yield place


def played(name: str, place: Place) -> tuple[Transcript, Exception | None]:
    """Play a scenario in a new namespace and return its transcript, and what went wrong on the way."""
    cluster = Cluster(place, namespace=name.replace("_", "-"))
    cluster.quietly(f"create namespace {cluster.namespace}")
    cluster.quietly("wait --for=create serviceaccount/default --timeout=60s")
    try:
        SCENARIOS[name](cluster)
    except Exception as error:
        return cluster.transcript, error
    finally:
        cluster.quietly(f"delete namespace {cluster.namespace} --wait=false")
    return cluster.transcript, None


def complaint(ours: Step, theirs: Step) -> str | None:
    """Return what is wrong with one step that both played; None when all is well."""
    lines = difflib.unified_diff(
        theirs.outcome.splitlines(), ours.outcome.splitlines(), "real", "embedded", lineterm=""
    )
    shown = "\n".join(lines)
    if not ours.difference:
        return f"{ours.command}\n{shown}" if shown else None
    named = DIFFERENCES[ours.difference]
    if not shown:
        return f"{ours.command}\nno longer differs: take {ours.difference!r} off"
    if named.embedded_says not in ours.outcome or named.real_says not in theirs.outcome:
        return f"{ours.command}\ndiffers otherwise than {ours.difference!r} says\n{shown}"
    return None


@pytest.mark.parametrize("name", SCENARIOS)
def test_both_clusters_play_alike(name: str, embedded: Place, real: Place) -> None:
    with ThreadPoolExecutor(2) as both:
        (ours, our_error), (theirs, their_error) = both.map(lambda place: played(name, place), (embedded, real))
    complaints = [each for pair in zip(ours.steps, theirs.steps, strict=False) if (each := complaint(*pair))]
    complaints += [f"{who}: {error!r}" for who, error in (("embedded", our_error), ("real", their_error)) if error]
    assert not complaints, "\n\n".join(complaints)


def test_every_difference_is_shown_and_documented() -> None:
    source = "".join(file.read_text(encoding="utf-8") for file in (HERE / "scenarios").glob("*.py"))
    assert [name for name in DIFFERENCES if f'"{name}"' not in source] == []
    assert table() in DOCUMENT.read_text(encoding="utf-8")
