"""One control plane for all tests of a process, and a namespace for each that asks.

These tests are left out of `make test`: `make e2e` runs them, `make e2e-full` those marked `full` as well, file by file
in two processes, since half of the time is waiting. They share a cluster, so a test cleans up what belongs to no
namespace, looks at nothing but its own, and stops no program; for that there is another API server, alone with its
store.
"""

import itertools
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from karpenter.runtime.kubehttp import HttpKubeClient
from tests.e2e import build
from tests.e2e.plane import ControlPlane, connect

HERE = Path(__file__).parent
LONGEST = ("test_disruption", "test_run", "test_scenarios", "test_differential")
"""The files to begin with, so that two processes end together."""
numbers = itertools.count(1)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "e2e: needs a real control plane (`make e2e`)")
    config.addinivalue_line("markers", "full: long; only in `make e2e-full`")


@pytest.hookimpl(tryfirst=True)  # before pytest deselects by marker
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.e2e)
    ours = {name: at for at, name in enumerate(LONGEST)}
    items.sort(key=lambda item: ours.get(item.path.relative_to(HERE).stem, 9) if HERE in item.path.parents else 9)


FIGURES = "figures"


@pytest.fixture
def report_line(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """What adds a line of figures to the end of pytest's output."""
    return partial(record_property, FIGURES)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [one for ended in ("passed", "failed") for one in terminalreporter.stats.get(ended, ())]
    told = [pair for one in reports if one.when == "call" for pair in one.user_properties]
    lines = [line for name, line in told if name == FIGURES]
    if lines:
        terminalreporter.section("figures")
        terminalreporter.write("".join(f"{line}\n" for line in lines))


@pytest.fixture(scope="session")
def programs() -> Path:
    """The folder of the control plane's programs. Without Go the tests that ask for it are skipped, in CI they fail."""
    folder = build.folder()
    if not folder.exists():
        if shutil.which("go") is None and not build.IN_CI:
            pytest.skip(build.NO_GO)
        pytest.fail("the control plane is not built: `make controlplane` builds it", pytrace=False)
    return folder


@pytest.fixture(scope="session")
def plane(
    programs: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[ControlPlane]:
    """The control plane that the tests share."""
    with ControlPlane.running(programs, tmp_path_factory.mktemp("plane") / "home") as running:
        failed_before = request.session.testsfailed
        yield running
        if request.session.testsfailed > failed_before:
            for program in running.programs:
                print(f"--- {program.log}\n{program.last_words()}")


@pytest.fixture
def namespace(plane: ControlPlane) -> Iterator[str]:
    """A new namespace, ready for pods; deleted afterwards, which nobody waits for."""
    name = f"e2e-{next(numbers)}"
    plane.kubectl("create", "namespace", name)
    plane.await_namespace(name)
    yield name
    plane.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
async def kube(plane: ControlPlane) -> AsyncIterator[HttpKubeClient]:
    """Our client, as an administrator. Tests that use it run in real time (`pytest.mark.real_time`)."""
    client = connect(plane.kubeconfig())
    yield client
    await client.close()


@pytest.fixture(scope="session")
def lone_server(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """An API server that nobody else writes to, and that a test may stop and start again."""
    with ControlPlane.serving(programs, tmp_path_factory.mktemp("lone") / "home") as server:
        for namespace in ("default", "kube-system"):
            server.kubectl("wait", "--for=create", f"namespace/{namespace}", "--timeout=60s")
            server.kubectl("create", "serviceaccount", "default", f"--namespace={namespace}")
        for own in ("extension-apiserver-authentication", "kube-apiserver-legacy-service-account-token-tracking"):
            server.kubectl("wait", "--for=create", f"configmap/{own}", "--namespace=kube-system", "--timeout=60s")
        yield server


@pytest.fixture
def lone_namespace(lone_server: ControlPlane) -> str:
    """A new namespace there. It stays: nobody would clean it up."""
    name = f"e2e-{next(numbers)}"
    lone_server.kubectl("create", "namespace", name)
    return name


@pytest.fixture
async def lone_kube(lone_server: ControlPlane) -> AsyncIterator[HttpKubeClient]:
    """Our client there."""
    client = connect(lone_server.kubeconfig())
    yield client
    await client.close()
