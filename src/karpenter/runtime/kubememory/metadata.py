"""Metadata of an object on its way in: names, identity, and the rules that all kinds share."""

from __future__ import annotations

import random
import re
import uuid
from collections.abc import Iterable
from typing import Any, Final

from karpenter.model.units import UnixSeconds, to_rfc3339
from karpenter.runtime.kube import BadRequest, RawObject
from karpenter.runtime.kubememory.refusals import Causes
from karpenter.runtime.kubememory.resources import ApiResource

_SUFFIX_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_LONGEST_GENERATED: Final = 63
_SUFFIX_LENGTH: Final = 5

_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_LABEL: Final = re.compile(_LABEL)
_DNS_SUBDOMAIN: Final = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_QUALIFIED_NAME: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_LABEL_VALUE: Final = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_PATH_NAME: Final = re.compile(r"[^/%]+")

_SUBDOMAIN_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_LABEL_RULE: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_DNS_LABEL_KINDS: Final = frozenset({"namespaces", "services"})
_SERVER_OWNED: Final = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "resourceVersion",
    "selfLink",
)
_LONGEST_ANNOTATIONS: Final = 256 * 1024


def identify(resource: ApiResource, tree: RawObject, namespace: str) -> None:
    """Check that a body is of the kind and namespace of its request, and write both down in it. Raises BadRequest."""
    kind, api_version = tree.get("kind") or resource.kind, tree.get("apiVersion") or resource.api_version
    if (kind, api_version) != (resource.kind, resource.api_version):
        version, own = str(api_version).rpartition("/")[2], resource.group.partition(".")[0] or "core"
        raise BadRequest(
            f'{kind} in version "{version}" cannot be handled as a {resource.kind}: '
            f"converting ({api_version}.{kind}) to ({own}.{resource.kind}): unknown conversion"
        )
    metadata = tree.setdefault("metadata", {})
    if not isinstance(metadata, dict):
        raise BadRequest(
            f"{resource.kind} in version {resource.version!r} cannot be handled: metadata must be an object"
        )
    _place(resource, metadata, namespace)
    rest = {key: value for key, value in tree.items() if key not in ("apiVersion", "kind")}
    tree.clear()
    tree.update({"apiVersion": resource.api_version, "kind": resource.kind} | rest)


def _place(resource: ApiResource, metadata: dict[str, Any], namespace: str) -> None:
    if not resource.namespaced:
        metadata.pop("namespace", None)
        return
    if not namespace:
        raise BadRequest(f"an empty namespace may not be set when a {resource.kind} is written")
    if metadata.get("namespace") not in (None, "", namespace):
        raise BadRequest("the namespace of the provided object does not match the namespace sent on the request")
    metadata["namespace"] = namespace


def stamp(resource: ApiResource, tree: RawObject, *, now: UnixSeconds, rng: random.Random, revision: int) -> None:
    """Give a new object its identity: uid, moment of creation, generation 1.

    The low bits of the uid are the revision, so that uids stay apart when a seeded generator starts anew.
    """
    metadata = tree["metadata"]
    for key in _SERVER_OWNED:
        metadata.pop(key, None)
    metadata["uid"] = str(uuid.UUID(int=rng.getrandbits(96) << 32 | revision & 0xFFFFFFFF, version=4))
    metadata["creationTimestamp"] = to_rfc3339(now)
    if resource.counts_generation:
        metadata["generation"] = 1


def generate_name(prefix: str, rng: random.Random) -> str:
    """Return a prefix with five random letters and digits after it, 63 at most in all."""
    return prefix[: _LONGEST_GENERATED - _SUFFIX_LENGTH] + "".join(rng.choices(_SUFFIX_LETTERS, k=_SUFFIX_LENGTH))


def keep_server_owned(old: RawObject, new: RawObject) -> None:
    """Undo what a writer may not change in metadata."""
    before, after = old["metadata"], new["metadata"]
    for key in _SERVER_OWNED:
        if key in before:
            after[key] = before[key]
        else:
            after.pop(key, None)


def check_metadata(resource: ApiResource, tree: RawObject, causes: Causes) -> None:
    """Note everything that is wrong with name, labels, annotations, finalizers and owners."""
    metadata = tree["metadata"]
    _check_name(resource, metadata.get("name"), causes)
    _check_strings("metadata.labels", metadata.get("labels"), causes)
    _check_strings("metadata.annotations", metadata.get("annotations"), causes)
    for key, value in _items(metadata.get("labels")):
        check_label("metadata.labels", key, value, causes=causes)
    for key, _ in _items(metadata.get("annotations")):
        check_qualified_name("metadata.annotations", key.lower(), causes)
    if sum(len(key) + len(str(value)) for key, value in _items(metadata.get("annotations"))) > _LONGEST_ANNOTATIONS:
        causes.invalid("metadata.annotations", "", f"Too long: may not be more than {_LONGEST_ANNOTATIONS} bytes")
    for finalizer in metadata.get("finalizers") or ():
        check_qualified_name("metadata.finalizers", finalizer, causes)
    _check_owners(metadata.get("ownerReferences") or (), causes)


def check_new_finalizers(old: RawObject | None, new: RawObject, causes: Causes) -> None:
    """Note finalizers that were added to an object that is already being deleted."""
    if old is None or "deletionTimestamp" not in old["metadata"]:
        return
    before = old["metadata"].get("finalizers") or ()
    added = [name for name in new["metadata"].get("finalizers") or () if name not in before]
    if added:
        listed = ", ".join(f'"{name}"' for name in added)
        causes.forbidden(
            "metadata.finalizers",
            f"no new finalizers can be added if the object is being deleted, found new finalizers []string{{{listed}}}",
        )


def check_label(field: str, key: str, value: object, *, causes: Causes) -> None:
    """Note a label whose key or value is not one."""
    check_qualified_name(field, key, causes)
    if not isinstance(value, str):
        return
    if len(value) > 63:
        causes.invalid(field, value, "must be no more than 63 characters")
    elif not _LABEL_VALUE.fullmatch(value):
        causes.invalid(
            field,
            value,
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
            "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for "
            "validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
        )


def check_qualified_name(field: str, text: object, causes: Causes) -> None:
    """Note a label key, annotation key or finalizer that is not `name` or `prefix/name`."""
    if not isinstance(text, str):
        causes.wrong_type(field, text, "must be a string")
        return
    prefix, slash, name = text.rpartition("/")
    if slash and not (_DNS_SUBDOMAIN.fullmatch(prefix) and len(prefix) <= 253):
        causes.invalid(field, text, f"prefix part {_SUBDOMAIN_RULE}")
    if not _QUALIFIED_NAME.fullmatch(name):
        causes.invalid(
            field,
            text,
            "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
            "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
            "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        )
    elif len(name) > 63:
        causes.invalid(field, text, "name part must be no more than 63 characters")


def _check_name(resource: ApiResource, name: object, causes: Causes) -> None:
    if not name:
        causes.required("metadata.name", "name or generateName is required")
    elif not isinstance(name, str):
        causes.wrong_type("metadata.name", name, "must be a string")
    elif resource.group == "rbac.authorization.k8s.io":
        if not _PATH_NAME.fullmatch(name) or name in (".", ".."):
            causes.invalid("metadata.name", name, "may not be '.' or '..' nor contain '/' or '%'")
    elif resource.plural in _DNS_LABEL_KINDS and not resource.is_custom:
        if not _DNS_LABEL.fullmatch(name) or len(name) > 63:
            causes.invalid("metadata.name", name, _LABEL_RULE)
    elif not _DNS_SUBDOMAIN.fullmatch(name) or len(name) > 253:
        causes.invalid("metadata.name", name, _SUBDOMAIN_RULE)


def _check_strings(field: str, value: object, causes: Causes) -> None:
    if value is None:
        return
    if not isinstance(value, dict):
        causes.wrong_type(field, value, "must be a map of strings")
        return
    for key, one in value.items():
        if not isinstance(one, str):
            causes.wrong_type(f"{field}.{key}", one, "must be a string; put it in quotes")


def _check_owners(owners: Iterable[dict[str, Any]], causes: Causes) -> None:
    controllers = 0
    for index, owner in enumerate(owners):
        for key in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(key):
                causes.required(f"metadata.ownerReferences[{index}].{key}", "must not be empty")
        controllers += owner.get("controller") is True
    if controllers > 1:
        causes.invalid("metadata.ownerReferences", controllers, "Only one reference can have Controller set to true")


def _items(value: object) -> list[tuple[str, object]]:
    return list(value.items()) if isinstance(value, dict) else []
