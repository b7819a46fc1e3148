"""The corpus of valid and invalid manifests in `tests/corpus`, which codecs and API servers have to judge alike.

Each file has a `base` and `cases`; a case is the base with `metadata` and `spec` merged in (null takes a field away):

    path    field that is refused, or a list of them, as codecs write it; without one the manifest is valid
    at      where API servers say so, when that differs; `<nil>` is the object itself
    modes   in which modes of reading Provisioners it is refused; both without it, and servers are compat
    judges  who refuses it (`codec`, `server`); both without it
    was     the spec before, merged into the base's: an update, of which codecs see only the outcome
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from karpenter.runtime import kube

FOLDER = Path(__file__).parent / "corpus"
RESOURCES = {
    resource.kind: resource
    for resource in (
        kube.PROVISIONERS,
        kube.NODE_POOLS,
        kube.NODE_CLAIMS,
        kube.AWS_NODE_TEMPLATES,
        kube.EC2_NODE_CLASSES,
    )
}
JUDGES = ("codec", "server")
MODES = ("compat", "strict")
UNCHECKED = "some validation rules were not checked"
"""What servers add when they did not look at everything, because of what they found first."""


@dataclass(frozen=True)
class Case:
    """One manifest and how it is judged."""

    name: str
    manifest: dict[str, Any]
    before: dict[str, Any] | None = None
    paths: tuple[str, ...] = ()
    at: tuple[str, ...] = ()
    modes: tuple[str, ...] = MODES
    judges: tuple[str, ...] = JUDGES

    def __str__(self) -> str:
        return f"{self.manifest['kind']}: {self.name}"

    def codec_refuses(self, mode: str = "compat") -> tuple[str, ...]:
        """Return the paths that codecs refuse, none when they accept."""
        return self.paths if "codec" in self.judges and mode in self.modes else ()

    def server_refuses(self) -> tuple[str, ...]:
        """Return the paths that API servers refuse, none when they accept."""
        return (self.at or self.paths) if "server" in self.judges else ()


def cases() -> Iterator[Case]:
    """Yield every case of every file."""
    for file in sorted(FOLDER.glob("*.yaml")):
        read = yaml.safe_load(file.read_text(encoding="utf-8"))
        base = read["base"]
        for one in read["cases"]:
            was = one.get("was")
            yield Case(
                one["name"],
                merged(base, {key: one[key] for key in ("metadata", "spec") if key in one}),
                None if was is None else merged(base, {"spec": was}),
                _listed(one.get("path")),
                _listed(one.get("at")),
                tuple(one.get("modes", MODES)),
                tuple(one.get("judges", JUDGES)),
            )


async def fields_refused(client: kube.KubeClient, case: Case) -> tuple[str, ...]:
    """Let an API server judge a case: return the fields that it complains about, none when it stores the object.

    Nothing stays behind.
    """
    resource, name = RESOURCES[case.manifest["kind"]], case.manifest["metadata"]["name"]
    try:
        if case.before is None:
            await client.create(resource, case.manifest)
        else:
            await client.create(resource, case.before)
            patch = [{"op": "replace", "path": "/spec", "value": case.manifest["spec"]}]
            await client.patch(resource, name, patch, patch_type="json")
    except kube.Invalid as error:
        told = [cause for cause in error.details["causes"] if UNCHECKED not in cause["message"]]
        return tuple(dict.fromkeys(cause["field"] for cause in told))
    finally:
        with suppress(kube.NotFound):
            await client.delete(resource, name)
    return ()


def _listed(given: str | list[str] | None) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given or ())


def merged(base: Any, change: Any) -> Any:
    """Return JSON with a merge patch applied."""
    if not isinstance(change, Mapping):
        return change
    kept = dict(base) if isinstance(base, Mapping) else {}
    for key, value in change.items():
        kept[key] = None if value is None else merged(kept.get(key), value)
    return {key: value for key, value in kept.items() if value is not None}


CASES = tuple(cases())
