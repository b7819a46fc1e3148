"""What the style guide says about size, and that the import contracts know every module that they are to cover."""

import ast
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))
LONGEST_FILE = 600
LONGEST_FUNCTION = 80


def docstring_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    if ast.get_docstring(node, clean=False) is None:
        return 0
    return node.body[0].end_lineno - node.body[0].lineno + 1


def long_functions(path: Path) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {lines} lines"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := node.end_lineno - node.lineno + 1 - docstring_lines(node)) > LONGEST_FUNCTION
    ]


def test_no_source_file_is_longer_than_600_lines() -> None:
    lengths = {path.relative_to(ROOT): len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES}
    assert {path: lines for path, lines in lengths.items() if lines > LONGEST_FILE} == {}


def test_no_function_is_longer_than_80_lines_without_its_docstring() -> None:
    assert [found for path in SOURCES for found in long_functions(path)] == []


def test_every_module_that_the_import_contracts_wait_for_is_still_absent() -> None:
    waiting = [line.split()[1] for line in contract_lines() if line.startswith("; karpenter.")]
    assert [name for name in waiting if exists(name)] == [], "uncomment these lines in importlinter.ini"


def contract_lines() -> list[str]:
    return [line.strip() for line in (ROOT / "importlinter.ini").read_text(encoding="utf-8").splitlines()]


def exists(module: str) -> bool:
    path = ROOT / "src" / Path(*module.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()
