"""Manifests are found wherever kubectl would find them, and a mistake is told with its place."""

import gzip
import io
import json
from pathlib import Path

import pytest

from karpenter.app.manifests.sources import Document, read_documents

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "web"}}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}


def read(*paths: Path | str, stdin: bytes = b"") -> tuple[list[str], list[str]]:
    documents, problems = read_documents([str(path) for path in paths], stdin=io.BytesIO(stdin))
    return [document.subject for document in documents], [str(problem) for problem in problems]


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_yaml_file_holds_any_number_of_documents_and_empty_ones_count_for_nothing(tmp_path: Path) -> None:
    text = f"---\n{json.dumps(POD)}\n---\n# nothing here\n---\napiVersion: v1\nkind: Node\nmetadata:\n  name: n\n---\n"
    assert read(write(tmp_path / "all.yaml", text)) == (["Pod web/a", "Node n"], [])


def test_lists_as_kubectl_prints_them_are_taken_apart(tmp_path: Path) -> None:
    nested = {"apiVersion": "v1", "kind": "List", "items": [NODE]}
    listing = {"apiVersion": "v1", "kind": "List", "metadata": {}, "items": [POD, nested]}
    assert read(write(tmp_path / "dump.json", json.dumps(listing))) == (["Pod web/a", "Node n"], [])


def test_items_of_a_typed_list_inherit_its_kind(tmp_path: Path) -> None:
    path = write(
        tmp_path / "pods.json", json.dumps({"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {}}]})
    )
    documents, problems = read_documents([str(path)], stdin=io.BytesIO())
    whole = {"apiVersion": "v1", "kind": "Pod", "metadata": {}}
    assert (documents, problems) == ((Document(str(path), "v1", "Pod", whole),), ())


def test_json_may_be_an_array_or_several_values_in_a_row(tmp_path: Path) -> None:
    text = f"{json.dumps([POD])}\n{json.dumps(NODE)}\n"
    assert read(write(tmp_path / "some.json", text)) == (["Pod web/a", "Node n"], [])


def test_flow_style_yaml_is_not_mistaken_for_broken_json() -> None:
    assert read("-", stdin=b"{apiVersion: v1, kind: Node, metadata: {name: n}}") == (["Node n"], [])


def test_a_folder_is_read_with_its_subfolders_in_order_and_nothing_hidden(tmp_path: Path) -> None:
    write(tmp_path / "b" / "node.yml", json.dumps(NODE))
    write(tmp_path / "a.json", json.dumps(POD))
    write(tmp_path / "README.md", "not a manifest")
    write(tmp_path / ".git" / "x.yaml", "not: [read")
    assert read(tmp_path) == (["Pod web/a", "Node n"], [])


def test_a_compressed_dump_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "pods.json.gz"
    path.write_bytes(gzip.compress(json.dumps([POD]).encode()))
    assert read(path) == (["Pod web/a"], [])


def test_a_dash_is_standard_input() -> None:
    assert read("-", stdin=json.dumps(POD).encode()) == (["Pod web/a"], [])


@pytest.mark.parametrize(
    "text, message",
    [
        ("a: 1\nb: [2\n", "stdin: line 3, column 1: did not find expected ',' or ']'"),
        ("a: 1\na: 2\n", "stdin: line 2, column 1: key 'a' is given twice"),
        ("hello", "stdin: document 1 is no object but a text (every object has apiVersion and kind)"),
        ("kind: Pod", "stdin: document 1 has no apiVersion, so it cannot be told what it is"),
        ("apiVersion: v1", "stdin: document 1 has no kind, so it cannot be told what it is"),
        ('[{"apiVersion": "v1", "kind": "Pod"}, 5]', "stdin: document 1, item 1 is no object but a number"),
        (
            '{"apiVersion": "v1",',
            "stdin: Expecting property name enclosed in double quotes: line 1 column 21 (char 20)",
        ),
    ],
)
def test_what_cannot_be_read_is_told_with_its_place(text: str, message: str) -> None:
    _, problems = read("-", stdin=text.encode())
    assert problems[0].startswith(message)


def test_a_missing_file_an_empty_folder_and_a_broken_archive_are_all_told(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "x.yaml.gz").write_bytes(b"no gzip")
    _, problems = read(tmp_path / "nope.yaml", tmp_path / "empty", tmp_path / "x.yaml.gz")
    assert [problem.removeprefix(f"{tmp_path}/") for problem in problems] == [
        "nope.yaml: there is no such file or folder",
        "empty: the folder holds no file ending in .yaml, .yml, .json",
        "x.yaml.gz: it is not a gzip file (Not a gzipped file (b'no'))",
    ]


def test_a_text_in_another_encoding_is_told() -> None:
    _, problems = read("-", stdin=b"a: \xff")
    assert problems == ["stdin: 'utf-8' codec can't decode byte 0xff in position 3: invalid start byte"]
