"""What was said and what came of it, without what differs from run to run: times, ids, addresses, drawn names."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import yaml

FIXED_PORT = 30123
"""The node port that scenarios ask for; others are drawn."""
_DRAWN = "[bcdfghjklmnpqrstvwxz2456789]"
"""The letters of names that Kubernetes draws."""
_KLOG = re.compile(r"^[IWE]\d{4} \d\d:\d\d:\d\d.*\n?", re.MULTILINE)
"""What kubectl's libraries say for developers."""
_PLAINER: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), plain)
    for pattern, plain in (
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
        (r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "TIME"),
        (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID"),
        (r"/tmp/(LIVE|MERGED|kubectl-edit)-\d+", r"/tmp/\1-FILE"),
        (rf"-{_DRAWN}{{8,10}}-{_DRAWN}{{5}}\b", "-HASH-DRAWN"),
        (rf"(?<=[-=]){_DRAWN}{{8,10}}\b", "HASH"),
        (rf"(?<=-){_DRAWN}{{5}}\b(?!-)", "DRAWN"),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ \+\d{4}", "TIME"),
        (r"https://127\.0\.0\.1:\d+", "SERVER"),
        (r"\b(10|100|127)(\.\d{1,3}){3}\b", "ADDRESS"),
        (r"\b-?\d+(\.\d+)?(ms|[smhd])(\d+[smh])?\b", "AGE"),
        (r"<invalid>", "AGE"),
        (r"(Resource Version: +)\d+", r"\1VERSION"),
        (r'(resourceVersion"?[:=] ?)"?\d+"?', r"\1VERSION"),
        (r"(current|in record)(: | \()\d+", r"\1\2VERSION"),
        (r"(?<=80:)3\d{4}(?=/)", "PORT"),
        (r"[ \t]{2,}", "  "),
        (r"-{3,}", "---"),
        (r"[ \t]+(?=\n|$)", ""),
    )
)
_CONTROLLERS = frozenset({"karpenter", "kube-controller-manager", "kube-scheduler", "kwok"})
_VOLATILE = frozenset(
    {
        "uid",
        "resourceVersion",
        "time",
        "podIP",
        "podIPs",
        "hostIP",
        "hostIPs",
        "clusterIP",
        "clusterIPs",
        "terminatingReplicas",
    }
)


def plain(text: str) -> str:
    """Return a text without what differs from run to run."""
    text = _KLOG.sub("", text)
    for pattern, word in _PLAINER:
        text = pattern.sub(word, text)
    return text.strip()


def plain_tree(value: Any) -> Any:
    """Return an object without what differs from run to run; lists that have no order are sorted.

    Which controllers wrote to it is left out too: `managedFields` is compared for those that a user's commands name.
    """
    if isinstance(value, dict):
        kept = {key: each for key, each in value.items() if key not in _VOLATILE and (key, each) != ("details", {})}
        if isinstance(port := kept.get("nodePort"), int) and port != FIXED_PORT:
            kept["nodePort"] = "PORT"
        return {plain(key): plain_tree(each) for key, each in sorted(kept.items())}
    if isinstance(value, list):
        trees = [plain_tree(each) for each in value if not _is_of_a_controller(each)]
        has_no_order = all(isinstance(one, dict) and {"type", "manager", "key"} & set(one) for one in trees)
        return sorted(trees, key=lambda one: json.dumps(one, sort_keys=True)) if has_no_order else trees
    return plain(value) if isinstance(value, str) else value


def _is_of_a_controller(entry: Any) -> bool:
    return isinstance(entry, dict) and entry.get("manager") in _CONTROLLERS


@dataclass(frozen=True)
class Step:
    """One command and its outcome."""

    command: str
    outcome: str
    difference: str
    """The named difference that is expected here; empty: there must be none."""


@dataclass
class Transcript:
    """The steps of a scenario on one server."""

    steps: list[Step] = field(default_factory=list)

    def add(self, command: str, outcome: str, *, differs: str = "") -> None:
        """Write down one step."""
        self.steps.append(Step(command, outcome, differs))

    def add_tree(self, command: str, tree: Any, *, differs: str = "", only: Callable[[Any], Any] | None = None) -> None:
        """Write down an object."""
        told = plain_tree(only(tree) if only else tree)
        self.add(command, yaml.safe_dump(told, sort_keys=True, width=200).strip(), differs=differs)
