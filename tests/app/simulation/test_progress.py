"""The bar of a long plan: on terminals only, and only when it takes long."""

import io

from rich.console import Console
from rich.progress import Progress

from karpenter.app.simulation.progress import Bar, shown_progress


def a_terminal() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=80)


def written(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_pipe_sees_no_bar() -> None:
    with shown_progress(Console(file=io.StringIO(), force_terminal=False)) as reporter:
        assert reporter is None


def test_what_is_quick_shows_nothing() -> None:
    console = a_terminal()
    with shown_progress(console) as reporter:
        assert reporter is not None
        reporter.progress("packing", 1, 20)
    assert written(console) == ""


def test_a_long_phase_shows_its_name_and_how_far_it_is() -> None:
    console = a_terminal()
    bar = Bar(Progress("{task.description} {task.percentage:>3.0f}%", console=console), 0.7, now=lambda: 1.0)
    bar.progress("packing", 5, 20)
    bar.progress("proving", 10, 20)
    bar.progress_bar.stop()
    assert "proving  50%" in written(console)
