"""Write `docs/simulate.svg`, what `karpenter simulate -f examples` prints: `python tools/screenshot.py`."""

import io
import re
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI

from karpenter.app.settings import Settings
from karpenter.app.simulate import answer_for
from karpenter.app.simulation.case import Circumstances, read_case
from karpenter.app.simulation.table import print_answer
from karpenter.scheduling.policy import Options

ROOT = Path(__file__).parent.parent
COMMAND = "$ karpenter simulate -f examples"


def main() -> None:
    console = Console(record=True, width=118, force_terminal=True, highlight=False, file=io.StringIO())
    console.print(COMMAND, style="bold")
    settings = Settings()
    case = read_case([str(ROOT / "examples")], settings, Circumstances())
    print_answer(answer_for(case, settings, Options(policy=settings.policy)), console=console)
    picture = console.export_svg(title="karpenter simulate", theme=MONOKAI, unique_id="simulate")
    # Fonts are the reader's own: the picture fetches nothing from anywhere.
    without_fonts = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)
    (ROOT / "docs" / "simulate.svg").write_text(without_fonts.replace("Fira Code, ", ""), encoding="utf-8")


if __name__ == "__main__":
    main()
