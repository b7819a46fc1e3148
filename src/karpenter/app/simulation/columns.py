"""How tables and counts look in a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table


def table(title: str, *columns: str, right: Iterable[str] = ()) -> Table:
    """Return an empty table without lines, and without a title if that is empty; columns in `right` hold numbers."""
    made = Table(title=title or None, title_justify="left", box=None, pad_edge=False, padding=(0, 3, 0, 0))
    aligned = frozenset(right)
    for column in columns:
        made.add_column(column, justify="right" if column in aligned else "left", overflow="fold")
    return made


def counted(count: int, noun: str) -> str:
    """Return `1 node`, `2 nodes`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
