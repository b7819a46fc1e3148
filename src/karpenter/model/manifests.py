"""Manifests as decoded JSON: who they are, and how a wire struct is made from one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, TypeVar, cast

import msgspec

from karpenter.model.errors import FieldError, ManifestError
from karpenter.model.reading import Reader, shown

T = TypeVar("T")

_MESSAGE: Final = re.compile(r"(?P<what>.*?)(?: - at (?P<is_key>`key` in )?`\$(?P<path>.*)`)?", re.DOTALL)
_STEP: Final = re.compile(r"\.(?P<name>[^.\[]+)|\[(?P<index>[0-9]+|\.\.\.)\]")
_WORDS: Final = {
    "str": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "object": "an object",
    "array": "a list",
}


def subject_of(raw: object) -> str:
    """Return what users call the object: `Provisioner default`, `Pod web/api-0`, `object` when it says nothing."""
    fields = raw if isinstance(raw, Mapping) else {}
    metadata = fields.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    kind = fields.get("kind")
    name = metadata.get("name") or metadata.get("generateName")
    namespace = metadata.get("namespace")
    words = [kind if isinstance(kind, str) and kind else "object"]
    if isinstance(name, str):
        words.append(f"{namespace}/{name}" if isinstance(namespace, str) and namespace else name)
    return " ".join(words)


def prune_nulls(value: object) -> object:
    """Return decoded JSON without the entries of objects that are null, at every depth: they mean absent."""
    if isinstance(value, Mapping):
        return {key: prune_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [prune_nulls(item) for item in value]
    return value


def from_wire(kind: type[T], raw: object) -> T:
    """Return a wire struct of `core` made from decoded JSON; fields we do not read are dropped.

    Raises:
        ManifestError: the first field that has the wrong type, lacks or is no quantity.
    """
    pruned = prune_nulls(raw)
    try:
        return msgspec.convert(pruned, kind)
    except msgspec.ValidationError as error:
        raise ManifestError(subject_of(raw), (_field_error(kind, pruned, error),)) from error


def _field_error(kind: type[T], raw: object, error: msgspec.ValidationError) -> FieldError:
    """Say in our words what msgspec found, and where; keys of free-form objects, which it does not name, are sought."""
    match = _MESSAGE.fullmatch(str(error))
    assert match is not None, "the pattern matches any text"
    path: list[str | int] = []
    for step in _STEP.finditer(match["path"] or ""):
        if step["name"] is not None:
            path.append(step["name"])
        elif step["index"] != "...":
            path.append(int(step["index"]))
        else:
            path.append(_culprit(kind, raw, path))
    missing = re.fullmatch(r"Object missing required field `(.*)`", match["what"])
    if missing is not None:
        return FieldError(_spelled([*path, missing[1]]), "is required")
    if match["is_key"]:
        return FieldError(_spelled(path), "a key is not a string", "put keys in quotes")
    return FieldError(_spelled(path), _reason(match["what"], _inner(raw, path)))


def _inner(raw: object, path: Sequence[str | int]) -> object:
    for step in path:
        raw = raw[step]  # type: ignore[index]  # msgspec walked here already
    return raw


def _culprit(kind: type[T], raw: object, path: Sequence[str | int]) -> str:
    """Return the key at `path` without whose entry alone the object could not be read."""
    keys = list(cast(Mapping[str, object], _inner(raw, path)))
    for key in keys:
        try:
            msgspec.convert(_narrowed(raw, path, key), kind)
        except msgspec.ValidationError:
            return key
    return "?"


def _narrowed(raw: object, path: Sequence[str | int], key: str) -> object:
    """Return `raw` with only one entry left in the object at `path`."""
    if not path:
        return {key: cast(Mapping[str, object], raw)[key]}
    step, rest = path[0], path[1:]
    if isinstance(raw, list):
        return [_narrowed(item, rest, key) if index == step else item for index, item in enumerate(raw)]
    fields = cast(Mapping[str, object], raw)
    return {name: _narrowed(item, rest, key) if name == step else item for name, item in fields.items()}


def _spelled(path: Sequence[str | int]) -> str:
    reader = Reader({})
    for step in path:
        reader = Reader({}, f"{reader.path}[{step}]" if isinstance(step, int) else reader.at(step))
    return reader.path


def _reason(what: str, value: object) -> str:
    if "matching regex" in what:
        return f"{value!r} is not a quantity such as 500m, 2 or 4Gi"
    if what.endswith(">= 0"):
        return f"{value!r} must not be negative"
    expected = re.match(r"Expected `([^`]+)`, got", what)
    if expected is None:
        return what[:1].lower() + what[1:]
    words = [_WORDS.get(word, word) for word in expected[1].split(" | ") if word != "null"]
    return f"expected {' or '.join(words)}, got {shown(value)}"
