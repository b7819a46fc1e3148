"""The documentation of metrics."""

from pathlib import Path

from karpenter.app.measures.table import table

DOCUMENT = Path(__file__).parents[3] / "docs" / "metrics.md"


def test_the_documentation_holds_the_table_as_it_is() -> None:
    assert table() in DOCUMENT.read_text(encoding="utf-8"), "python tools/metrics_table.py writes it anew"
