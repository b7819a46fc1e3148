"""Build the programs of a control plane from the Go module `controlplane/`, once per content, outside the checkout.

Run as a script it builds what is missing and prints the folder. The first build takes about ten minutes on two cores,
0.7 GB of Go modules and 2.5 GB of Go's build cache; every run after that finds the programs ready. It needs nothing
but Go and the standard library, so that it can run before, or beside, everything else.

Without Go there is nothing to build: the tests are skipped and say so. Under CI that is an error.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

MODULE = Path(__file__).parent / "controlplane"
HELM = "helm.sh/helm/v3/cmd/helm"
SMALL_MODULE = "github.com/spf13/pflag"
PROGRAMS = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubectl",
    "kwok",
    "kwok-config",
    "metrics-server",
)
"""The names that the one binary is called by (see main.go)."""

IN_CI = os.environ.get("CI") == "true"
NO_GO = "Go is not installed: without it there is no control plane to test against"


def version(module: str) -> str:
    """Return the version of a Go module that go.mod asks for, such as `v1.36.3`."""
    found = re.search(rf"^\s+{re.escape(module)} (v\S+)", (MODULE / "go.mod").read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise LookupError(f"{MODULE / 'go.mod'}: does not require {module}")
    return found[1]


def flags() -> list[str]:
    """Return the flags of `go build`: small binaries that know which version they are."""
    kubernetes = version("k8s.io/kubernetes")
    major, minor, _ = kubernetes.removeprefix("v").split(".")
    stamps = {"helm.sh/helm/v3/internal/version.version": version("helm.sh/helm/v3")}
    for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version"):
        stamps |= {f"{package}.gitVersion": kubernetes, f"{package}.gitMajor": major, f"{package}.gitMinor": minor}
    for package in ("chartutil", "lint/rules"):
        stamps[f"helm.sh/helm/v3/pkg/{package}.k8sVersionMajor"] = major
        stamps[f"helm.sh/helm/v3/pkg/{package}.k8sVersionMinor"] = minor
    stamped = " ".join(f"-X {name}={value}" for name, value in stamps.items())
    # Without debug information the build takes an eighth less time and a sixth less room.
    return ["-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false", f"-ldflags=-s -w {stamped}"]


def folder() -> Path:
    """Return where the programs of this content are, or will be."""
    content = hashlib.sha256("\n".join([*PROGRAMS, HELM, *flags()]).encode())
    for file in sorted(MODULE.glob("*.*")):
        content.update(file.name.encode() + file.read_bytes())
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "pykarpenter" / "controlplane" / content.hexdigest()[:16]


def build() -> Path:
    """Build the programs unless they are there, and return their folder.

    Raises:
        FileNotFoundError: Go is not installed.
        subprocess.CalledProcessError: the build failed; Go has printed why.
    """
    target = folder()
    target.parent.mkdir(parents=True, exist_ok=True)
    with only_one(target.parent):
        if target.exists():
            return target
        if shutil.which("go") is None:
            raise FileNotFoundError(NO_GO)
        print("Building the control plane (once, about ten minutes) …", file=sys.stderr, flush=True)
        with TemporaryDirectory(dir=target.parent, prefix="unfinished-") as unfinished:
            compile_into(Path(unfinished))
            # Whole or not at all: whoever sees the folder may use what is in it.
            (Path(unfinished) / "bin").rename(target)
    return target


@contextmanager
def only_one(cache: Path) -> Iterator[None]:
    """Wait until no other build is under way, and keep the others waiting."""
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def is_possible() -> bool:
    """Return whether this machine can build at all: Go is here, and a small module can be fetched anew."""
    if shutil.which("go") is None:
        return False
    with TemporaryDirectory() as empty:
        command = ["go", "mod", "download", "-modcacherw", f"{SMALL_MODULE}@{version(SMALL_MODULE)}"]
        environment = {**os.environ, "GOMODCACHE": empty}
        done = subprocess.run(command, cwd=MODULE, env=environment, stdin=subprocess.DEVNULL, check=False)
    return done.returncode == 0


def compile_into(unfinished: Path) -> None:
    """Compile the two binaries into `bin/` and link the names of the first to it."""
    binaries = unfinished / "bin"
    environment = {**os.environ, "CGO_ENABLED": "0"}
    command = ["go", "build", *flags(), "-o", f"{binaries}/", ".", HELM]
    subprocess.run(command, cwd=MODULE, env=environment, stdin=subprocess.DEVNULL, check=True)
    for program in PROGRAMS:
        (binaries / program).symlink_to(MODULE.name)


def main() -> None:
    """Build, print the folder, and end with status 1 if there is something wrong with that.

    With `--is-possible` build nothing, and end with status 1 on a machine that cannot.
    """
    if sys.argv[1:] == ["--is-possible"]:
        sys.exit(0 if is_possible() else 1)
    try:
        print(build())
    except FileNotFoundError as missing:
        if IN_CI:
            sys.exit(str(missing))
        print(f"{missing}; its tests are skipped", file=sys.stderr)
    except subprocess.CalledProcessError as failure:
        sys.exit(f"the control plane could not be built: go ended with status {failure.returncode}")


if __name__ == "__main__":
    main()
