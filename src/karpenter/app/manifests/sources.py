"""Files, folders and standard input, as one sequence of raw objects.

YAML with any number of documents, JSON, `kubectl get -o yaml|json` lists and plain JSON arrays; `.gz` is unpacked.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec
import yaml

from karpenter.app.manifests.problems import Problem
from karpenter.app.manifests.yamltext import ManifestLoader

STDIN: Final = "-"
SUFFIXES: Final = (".yaml", ".yml", ".json")


@dataclass(frozen=True, slots=True)
class Document:
    """One object as it stands in the input, not looked into yet beyond `apiVersion` and `kind`."""

    place: str
    api_version: str
    kind: str
    raw: dict[str, Any]

    @property
    def group(self) -> str:
        """The API group; empty for the core group."""
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        """The version within the group."""
        return self.api_version.rpartition("/")[2]

    @property
    def metadata(self) -> dict[str, Any]:
        """The object's metadata; empty when it is missing or no mapping."""
        found = self.raw.get("metadata")
        return found if isinstance(found, dict) else {}

    @property
    def subject(self) -> str:
        """The object as users write it: `Pod web/api-0`, `Pod` when it has no name."""
        name = self.metadata.get("name") or self.metadata.get("generateName")
        namespace = self.metadata.get("namespace")
        return f"{self.kind} {f'{namespace}/' if namespace else ''}{name}" if name else self.kind


def read_documents(paths: Sequence[str], *, stdin: BinaryIO) -> tuple[tuple[Document, ...], tuple[Problem, ...]]:
    """Return every object of the files, folders (subfolders too) and `-`, in order, and what cannot be read."""
    documents: list[Document] = []
    problems: list[Problem] = []
    for place, content in _contents(paths, stdin, problems):
        try:
            values = tuple(_values(content))
        except ValueError as error:
            problems.append(Problem(place, "", str(error)))
            continue
        for found in _objects(values, place):
            if isinstance(found, Document):
                documents.append(found)
            else:
                problems.append(found)
    return tuple(documents), tuple(problems)


def _contents(paths: Sequence[str], stdin: BinaryIO, problems: list[Problem]) -> Iterator[tuple[str, bytes]]:
    for path in paths:
        if path == STDIN:
            yield "stdin", stdin.read()
            continue
        for file in _files(Path(path), problems):
            try:
                content = file.read_bytes()
                yield str(file), gzip.decompress(content) if file.suffix == ".gz" else content
            except (OSError, EOFError, zlib.error) as error:
                problems.append(Problem(str(file), "", _why(error)))


def _files(path: Path, problems: list[Problem]) -> Sequence[Path]:
    if not path.is_dir():
        return (path,)
    found = sorted(file for file in path.rglob("*") if _is_manifest(file.relative_to(path)) and file.is_file())
    if not found:
        problems.append(Problem(str(path), "", f"the folder holds no file ending in {', '.join(SUFFIXES)}"))
    return found


def _is_manifest(relative: Path) -> bool:
    name = relative.name.removesuffix(".gz")
    return name.endswith(SUFFIXES) and not any(part.startswith(".") for part in relative.parts)


def _why(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such file or folder"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return f"it is not a gzip file ({error})"


def _values(content: bytes) -> Iterator[Any]:
    """Yield the values of a text, one a document. Raises ValueError saying in one line what is wrong where."""
    text = content.decode("utf-8-sig")  # a UnicodeDecodeError is a ValueError that says at which byte
    if text.lstrip()[:1] in {"{", "["}:
        try:
            yield from _json_values(text)
        except ValueError as json_error:
            # YAML's flow style looks like JSON. What is neither is told in the words of the one that it looks like.
            try:
                yield from _yaml_values(text)
            except ValueError:
                raise json_error from None
        return
    yield from _yaml_values(text)


def _json_values(text: str) -> list[Any]:
    try:
        return [msgspec.json.decode(text)]
    except msgspec.DecodeError:
        return list(_concatenated_json(text))


def _concatenated_json(text: str) -> Iterator[Any]:
    decoder = json.JSONDecoder()
    position = 0
    while position < len(text):
        value, position = decoder.raw_decode(text, position)
        yield value
        while position < len(text) and text[position].isspace():
            position += 1


def _yaml_values(text: str) -> list[Any]:
    try:
        return list(yaml.load_all(text, ManifestLoader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise ValueError(f"{where}{error.problem or error.context or 'it is not YAML'}") from error
    except yaml.YAMLError as error:
        raise ValueError(str(error).partition("\n")[0]) from error


def _objects(values: Iterable[Any], place: str) -> Iterator[Document | Problem]:
    for number, value in enumerate(values, start=1):
        if value is None:  # an empty document: `---` at the end, or only comments
            continue
        yield from _object(value, place, where=f"document {number}")


def _object(
    value: object, place: str, *, where: str, inherited: tuple[str, str] = ("", "")
) -> Iterator[Document | Problem]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _object(item, place, where=f"{where}, item {index}", inherited=inherited)
        return
    if not isinstance(value, dict):
        yield Problem(place, "", f"{where} is no object but {_kind_of(value)} (every object has apiVersion and kind)")
        return
    version, kind = (value.get(key, inherited[index]) for index, key in enumerate(("apiVersion", "kind")))
    if not (isinstance(version, str) and version and isinstance(kind, str) and kind):
        missing = "apiVersion" if not (isinstance(version, str) and version) else "kind"
        yield Problem(place, "", f"{where} has no {missing}, so it cannot be told what it is")
        return
    items = value.get("items")
    if kind.endswith("List") and isinstance(items, list):
        of = ("", "") if kind == "List" else (version, kind.removesuffix("List"))
        for index, item in enumerate(items):
            yield from _object(item, place, where=f"{where}, item {index}", inherited=of)
        return
    yield Document(place, version, kind, value if "kind" in value else {"apiVersion": version, "kind": kind, **value})


def _kind_of(value: object) -> str:
    match value:
        case bool():
            return "a boolean"
        case str():
            return "a text"
        case int() | float():
            return "a number"
        case _:
            return f"a {type(value).__name__}"
