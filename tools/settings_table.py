"""Write the table of `docs/settings.md` anew from the settings that there are: `python tools/settings_table.py`."""

from pathlib import Path

from karpenter.app.settings import table

DOCUMENT = Path(__file__).parent.parent / "docs" / "settings.md"


def main() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    before = text[: text.index("| setting |")]
    DOCUMENT.write_text(before + table() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
