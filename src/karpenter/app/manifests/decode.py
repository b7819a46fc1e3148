"""Documents to objects of the model, with every mistake of every object collected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from karpenter.app.manifests.kinds import KINDS, Kind
from karpenter.app.manifests.objects import Identity, Objects
from karpenter.app.manifests.problems import Problem
from karpenter.app.manifests.sources import Document
from karpenter.model.errors import FieldError, ManifestError
from karpenter.model.pools import Mode
from karpenter.model.units import ObjectKey

_OUR_GROUPS: Final = frozenset({"karpenter.sh", "karpenter.k8s.aws"})


def decode_documents(documents: Iterable[Document], mode: Mode) -> tuple[Objects, tuple[Problem, ...], tuple[str, ...]]:
    """Return the objects that could be read, what is wrong with the others, and warnings.

    Kinds that are not read cost a warning each. An object without a namespace is in `default`, as for kubectl.
    """
    collector = _Collector(mode)
    for document in documents:
        collector.add(document)
    return (
        Objects(collector.decoded, collector.places),
        tuple(collector.problems),
        (*collector.warnings, *collector.unread()),
    )


class _Collector:
    def __init__(self, mode: Mode) -> None:
        self._mode = mode
        self._raw: dict[Identity, dict[str, Any]] = {}
        self._unknown: Counter[tuple[str, str]] = Counter()
        self.decoded: dict[Identity, object] = {}
        self.places: dict[Identity, str] = {}
        self.problems: list[Problem] = []
        self.warnings: list[str] = []

    def add(self, document: Document) -> None:
        kind = KINDS.get((document.group, document.kind))
        if kind is None:
            self._unfamiliar(document)
            return
        errors = _naming_errors(document, kind)
        if errors:
            self._refuse(document, errors)
            return
        self._decode(document, kind)

    def _unfamiliar(self, document: Document) -> None:
        """A kind of ours under a wrong group is a mistake; any other kind is just not read."""
        meant = next(
            (kind for kind in KINDS.values() if kind.name == document.kind and kind.group in _OUR_GROUPS), None
        )
        if meant is not None and document.group in _OUR_GROUPS:
            self._refuse(document, [_version_error(document, meant)])
        else:
            self._unknown[document.api_version, document.kind] += 1

    def _refuse(self, document: Document, errors: Sequence[FieldError]) -> None:
        self.problems.extend(Problem(document.place, document.subject, error) for error in errors)

    def _decode(self, document: Document, kind: Kind) -> None:
        raw = _in_namespace(document) if kind.is_namespaced else document.raw
        metadata = raw["metadata"]
        namespace = metadata["namespace"] if kind.is_namespaced else ""
        identity = Identity(kind.group, kind.name, ObjectKey(namespace, metadata["name"]))
        try:
            self.decoded[identity], warnings = kind.decode(raw, self._mode)
        except ManifestError as error:
            self._refuse(document, error.errors)
            return
        if self._raw.get(identity, raw) != raw:
            self.warnings.append(f"{document.place}: {document.subject}: is given more than once, the last one counts")
        self._raw[identity] = raw
        self.places[identity] = document.place
        self.warnings.extend(f"{document.place}: {document.subject}: {warning}" for warning in warnings)

    def unread(self) -> list[str]:
        """One line a kind that is not read."""
        return [
            f"{version} {kind} is not read ({count} {'object' if count == 1 else 'objects'})"
            for (version, kind), count in sorted(self._unknown.items())
        ]


def _naming_errors(document: Document, kind: Kind) -> list[FieldError]:
    errors = [] if document.version == kind.version else [_version_error(document, kind)]
    name, namespace = (document.metadata.get(field) for field in ("name", "namespace"))
    if not (isinstance(name, str) and name):
        errors.append(FieldError("metadata.name", "is required and must be a non-empty string"))
    if kind.is_namespaced and not isinstance(namespace, str | None):
        errors.append(FieldError("metadata.namespace", "must be a string"))
    return errors


def _version_error(document: Document, kind: Kind) -> FieldError:
    return FieldError("apiVersion", f"{document.api_version!r} is not supported", f"write {kind.api_version}")


def _in_namespace(document: Document) -> dict[str, Any]:
    if document.metadata.get("namespace"):
        return document.raw
    return {**document.raw, "metadata": {**document.metadata, "namespace": "default"}}
