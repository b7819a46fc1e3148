"""When containers end by themselves, and how: there are none, so something has to stand for what they do.

A pod that restarts for ever (`restartPolicy: Always`) never ends. Any other runs for as long as its annotation says
(`simulated-kubelet/runs-for`, such as `90s` or `1h30m`), else as its command does if that is `sleep N`, else, if a Job
made it, for ten seconds; else it never ends. It ends well unless the annotation `simulated-kubelet/exit-code` has
another number than 0, or the command ends in `exit N`, or is `false`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from karpenter.model.core import Pod
from karpenter.model.durations import parse_go_duration
from karpenter.runtime.kube import RawObject

RUNS_FOR: Final = "simulated-kubelet/runs-for"
EXIT_CODE: Final = "simulated-kubelet/exit-code"
JOB_S: Final = 10.0
"""How long a Job's pod runs when nothing says so."""
_SLEEP: Final = re.compile(r"\bsleep\s+([0-9]+(?:\.[0-9]+)?)([smhd]?)")
_EXIT: Final = re.compile(r"\bexit\s+([0-9]+)\s*;?\s*$")
_UNITS: Final = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_FIRST_RESTART_S, _LONGEST_RESTART_S = 10.0, 300.0


@dataclass(frozen=True, slots=True)
class Ending:
    """How the containers of a pod end."""

    after_s: float
    """From when they run."""
    exit_code: int = 0

    @property
    def is_good(self) -> bool:
        """Whether they did what they were to do."""
        return self.exit_code == 0


def may_end(pod: Pod) -> bool:
    """Return whether the containers of a pod may end by themselves."""
    return pod.spec.restart_policy != "Always"


def ending_of(pod: Pod, raw: RawObject) -> Ending | None:
    """Return how a pod that may end does; None when it runs till it is stopped. `raw` is the pod as it was written."""
    annotations = pod.metadata.annotations
    commands = [" ".join(_words(container)) for container in raw["spec"].get("containers") or ()]
    after_s = _stated_s(annotations.get(RUNS_FOR))
    if after_s is None:
        after_s = _sleep_s(commands)
    if after_s is None and pod.metadata.is_owned_by("Job"):
        after_s = JOB_S
    code = _stated_code(annotations.get(EXIT_CODE))
    if after_s is None:
        return None
    return Ending(after_s, _code_of(commands) if code is None else code)


def _words(container: dict[str, Any]) -> Sequence[str]:
    return [*(container.get("command") or ()), *(container.get("args") or ())]


def _stated_s(text: str | None) -> float | None:
    try:
        return None if text is None else parse_go_duration(text)
    except ValueError:
        return None


def _stated_code(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None


def _sleep_s(commands: Sequence[str]) -> float | None:
    """Return how long the longest of some commands sleeps in all; None when none does."""
    found = [[float(number) * _UNITS[unit] for number, unit in _SLEEP.findall(command)] for command in commands]
    return max((sum(naps) for naps in found if naps), default=None)


def _code_of(commands: Sequence[str]) -> int:
    for command in commands:
        if command.split()[-1:] == ["false"]:
            return 1
        if ended := _EXIT.search(command):
            return int(ended[1])
    return 0


def restart_delay_s(restarts: int) -> float:
    """Return how long a container that has been restarted so often waits before the next time."""
    return float(min(_FIRST_RESTART_S * 2.0**restarts, _LONGEST_RESTART_S))
