"""Write the table of `docs/metrics.md` anew from the metrics that there are: `python tools/metrics_table.py`."""

from pathlib import Path

from karpenter.app.measures.table import table

DOCUMENT = Path(__file__).parent.parent / "docs" / "metrics.md"


def main() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    before = text[: text.index("| name |")]
    DOCUMENT.write_text(before + table() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
