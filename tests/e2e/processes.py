"""One program at a time: started in the background, watched, stopped by its process id."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

PATIENCE_S = 60.0
"""How long a program may take to come up: ten times what it takes on a machine at rest."""

WIDEST = 300


class ProgramError(Exception):
    """A program of the control plane ended, or did not come up."""


def eventually(condition: Callable[[], bool], what: str, *, deadline_s: float = PATIENCE_S) -> None:
    """Wait until `condition` holds. Raises AssertionError naming `what` if it never does."""
    end = time.monotonic() + deadline_s
    while not condition():
        assert time.monotonic() < end, f"not within {deadline_s:.0f} s: {what}"
        time.sleep(0.2)


@dataclass
class Program:
    """A program with its arguments. Its output goes to a log file, one file over all its starts."""

    path: Path
    arguments: Sequence[str]
    log: Path
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        return self.path.name

    def start(self) -> None:
        assert self.process is None, f"{self.name} runs already"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [self.path, *self.arguments],
                stdin=subprocess.PIPE,  # closes when this process dies, however it dies
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "EXIT_WITH_STDIN": "1"},
                cwd=self.log.parent,
                process_group=0,  # Ctrl-C is for pytest, which then stops the programs in order
            )

    def wait_until(self, is_up: Callable[[], bool]) -> None:
        """Wait until `is_up` says so. Raises ProgramError with the end of the log if that takes too long."""
        deadline = time.monotonic() + PATIENCE_S
        while not is_up():
            if self.process is None or self.process.poll() is not None:
                raise ProgramError(f"{self.name} ended:\n{self.last_words()}")
            if time.monotonic() > deadline:
                raise ProgramError(f"{self.name} did not come up in {PATIENCE_S:.0f} s:\n{self.last_words()}")
            time.sleep(0.05)

    def stop(self) -> None:
        """End the program, gently at first. Does nothing if it does not run."""
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._forget()

    def kill(self) -> None:
        """End the program as a crash would: at once, connections cut."""
        assert self.process is not None, f"{self.name} does not run"
        self.process.kill()
        self.process.wait()
        self._forget()

    def last_words(self, lines: int = 20) -> str:
        """Return the end of the log, without the rest of overlong lines."""
        text = self.log.read_text(encoding="utf-8", errors="replace")
        return "\n".join(line[:WIDEST] for line in text.splitlines()[-lines:])

    def _forget(self) -> None:
        if self.process is not None and self.process.stdin is not None:
            self.process.stdin.close()
        self.process = None
