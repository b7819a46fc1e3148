"""A real Kubernetes control plane on loopback, with kwok for kubelets: up in seconds, gone without a trace.

    with ControlPlane.running(binaries, home) as plane:
        plane.kubectl("get", "nodes")

Started by `conftest.py` once for all tests.
"""

import json
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import yaml

from karpenter.runtime.clock import WallClock
from karpenter.runtime.kubehttp import HttpKubeClient, find_connection
from tests.e2e import programs
from tests.e2e.pki import ADMIN, USERS, User, write_pki
from tests.e2e.processes import Program
from tests.e2e.programs import LOOPBACK, Layout, free_ports, write_kubeconfig

METRICS_API = Path(__file__).parent / "metrics-api.yaml"


def connect(kubeconfig: Path) -> HttpKubeClient:
    """Return our client, as quick as the server is."""
    return HttpKubeClient(find_connection({}, kubeconfig=kubeconfig), clock=WallClock(), qps=10_000, burst=10_000)


class ControlPlane:
    """etcd, API server, controller manager, scheduler, kwok and metrics-server of one version."""

    def __init__(self, binaries: Path, home: Path) -> None:
        """Lay out a control plane with the programs in `binaries`; all its files go into `home`, which is made."""
        home.mkdir(parents=True)
        self.layout = Layout(home=home, binaries=binaries, ports=free_ports(), pki=write_pki(home / "pki"))
        for user in USERS:
            write_kubeconfig(self.layout, self.layout.kubeconfig(user), {"token": user.token})
        self._write_configurations()
        self.etcd = self._program("etcd", programs.etcd(self.layout))
        self.api_server = self._program("kube-apiserver", programs.kube_apiserver(self.layout))
        self.controller_manager = self._program(
            "kube-controller-manager", programs.kube_controller_manager(self.layout)
        )
        self.scheduler = self._program("kube-scheduler", programs.kube_scheduler(self.layout))
        self.kwok = self._program("kwok", programs.kwok(self.layout))
        self.metrics_server = self._program("metrics-server", programs.metrics_server(self.layout))
        self._trust = ssl.create_default_context(cafile=str(self.layout.pki.authority.certificate_file))

    @classmethod
    @contextmanager
    def running(cls, binaries: Path, home: Path) -> Iterator[Self]:
        """Yield a control plane that runs; stop it afterwards, also if it did not come up."""
        plane = cls(binaries, home)
        try:
            plane.start()
            yield plane
        finally:
            plane.stop()

    @classmethod
    @contextmanager
    def serving(cls, binaries: Path, home: Path) -> Iterator[Self]:
        """Yield an API server with its store and nobody else: objects stay as they are written."""
        plane = cls(binaries, home)
        try:
            plane.etcd.start()
            plane.start_api_server()
            yield plane
        finally:
            plane.stop()

    @property
    def url(self) -> str:
        """Where the API server listens: `https://127.0.0.1:port`."""
        return self.layout.url

    @property
    def programs(self) -> tuple[Program, ...]:
        """All programs in the order they are started in."""
        return (
            self.etcd,
            self.api_server,
            self.controller_manager,
            self.scheduler,
            self.kwok,
            self.metrics_server,
        )

    def kubeconfig(self, user: User = ADMIN) -> Path:
        """Return the kubeconfig of a user who shows a bearer token."""
        return self.layout.kubeconfig(user)

    def start(self) -> None:
        """Start everything and wait until pods can be created and run."""
        self.etcd.start()
        self.start_api_server()
        for program in self.programs[2:]:
            program.start()
        ports = self.layout.ports
        self.controller_manager.wait_until(lambda: self._answers(ports.controller_manager, "/healthz"))
        self.scheduler.wait_until(lambda: self._answers(ports.scheduler, "/readyz"))
        self.kwok.wait_until(lambda: self._answers(ports.kwok, "/healthz"))
        self.metrics_server.wait_until(lambda: self._answers(ports.metrics_server, "/livez"))
        self.await_namespace("default")
        self._offer_metrics()

    def stop(self) -> None:
        """Stop what runs, the last first, so that nobody misses a server that it still needs."""
        for program in reversed(self.programs):
            program.stop()

    def start_api_server(self) -> None:
        """Start the API server, on the port that it always has, and wait until it is ready."""
        self.api_server.start()
        self.api_server.wait_until(lambda: self._answers(self.layout.ports.api_server, "/readyz"))

    def kubectl(self, *arguments: str, stdin: str | None = None, user: User = ADMIN) -> str:
        """Return what kubectl prints. Raises AssertionError with what it complains about."""
        done = self.try_kubectl(*arguments, stdin=stdin, user=user)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stdout}{done.stderr}"
        return done.stdout

    def try_kubectl(
        self, *arguments: str, stdin: str | None = None, user: User = ADMIN
    ) -> subprocess.CompletedProcess[str]:
        """Return how kubectl ended, which may be badly."""
        return self._run("kubectl", *arguments, stdin=stdin, user=user)

    def helm(self, *arguments: str) -> str:
        """Return what helm prints. Raises AssertionError with what it complains about."""
        done = self._run("helm", *arguments, stdin=None, user=ADMIN)
        assert done.returncode == 0, f"helm {' '.join(arguments)}: {done.stdout}{done.stderr}"
        return done.stdout

    def apply(self, *objects: Mapping[str, Any]) -> None:
        """Apply manifests, in order."""
        self.kubectl("apply", "--filename=-", stdin="\n---\n".join(json.dumps(each) for each in objects))

    def await_namespace(self, name: str) -> None:
        """Wait until pods may be created in a namespace: not before it has its service account."""
        self.kubectl("wait", "--for=create", "serviceaccount/default", f"--namespace={name}", "--timeout=60s")

    def _write_configurations(self) -> None:
        home = self.layout.home
        scheduler = programs.scheduler_configuration(self.layout)
        (home / "scheduler.yaml").write_text(yaml.safe_dump(scheduler), encoding="utf-8")
        (home / "kwok.yaml").write_text(self._run_plainly("kwok-config"), encoding="utf-8")

    def _program(self, name: str, arguments: list[str]) -> Program:
        return Program(self.layout.binaries / name, arguments, self.layout.home / f"{name}.log")

    def _offer_metrics(self) -> None:
        """Let the API server pass metrics.k8s.io on to metrics-server."""
        service, api = yaml.safe_load_all(METRICS_API.read_text(encoding="utf-8"))
        port = self.layout.ports.metrics_server
        service["spec"]["ports"][0]["port"] = port
        api["spec"]["service"]["port"] = port
        api["spec"]["caBundle"] = self.layout.pki.authority.certificate_base64
        self.kubectl("wait", "--for=create", "namespace/kube-system", "--timeout=60s")
        self.apply(service, api)

    def _answers(self, port: int, path: str) -> bool:
        request = urllib.request.Request(
            f"https://{LOOPBACK}:{port}{path}", headers={"Authorization": f"Bearer {ADMIN.token}"}
        )
        try:
            with urllib.request.urlopen(request, timeout=5, context=self._trust) as response:
                return bool(response.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def _run(self, program: str, *arguments: str, stdin: str | None, user: User) -> subprocess.CompletedProcess[str]:
        home = self.layout.home
        environment = {
            "HOME": str(home),  # caches and preferences of its own, none of the user's
            "PATH": str(self.layout.binaries),
            "KUBECONFIG": str(self.kubeconfig(user)),
        }
        return subprocess.run(
            [self.layout.binaries / program, *arguments],
            input=stdin or "",
            env=environment,
            cwd=home,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def _run_plainly(self, program: str) -> str:
        return subprocess.run([self.layout.binaries / program], capture_output=True, text=True, check=True).stdout
