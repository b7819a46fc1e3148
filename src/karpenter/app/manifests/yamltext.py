"""YAML as kubectl reads it: keys are given once, dates stay texts, `22:22` is no number."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

import yaml

try:
    from yaml import CSafeLoader as _Loader
except ImportError:  # PyYAML without libyaml: slower, the same
    from yaml import SafeLoader as _Loader  # type: ignore[assignment]

_DROPPED = ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
# YAML 1.1 without numbers to the base of sixty, which turn a port mapping such as 22:22 into 1342.
_INT = re.compile(r"[-+]?(?:0b[0-1_]+|0x[0-9a-fA-F_]+|0o?[0-7_]+|0|[1-9][0-9_]*)$")
_FLOAT = re.compile(
    r"(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[-+]?\.[0-9][0-9_]*(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?[0-9][0-9_]*[eE][-+]?[0-9]+|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
)


class ManifestLoader(_Loader):
    """A safe loader for manifests."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Return the mapping of a node; a key that is given twice is an error, as kubectl has it."""
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                if key.value in seen:
                    problem = f"key {key.value!r} is given twice"
                    raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
                seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


def _octal_aware_int(loader: ManifestLoader, node: yaml.ScalarNode) -> int:
    text = str(loader.construct_scalar(node)).replace("_", "").lower()
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if digits.startswith("0") and digits[1:].isdigit():
        return sign * int(digits, 8)  # 0644, as YAML 1.1 has it; 0o644 is understood by int()
    return sign * int(digits, 0)


ManifestLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _DROPPED]
    for first, resolvers in _Loader.yaml_implicit_resolvers.items()
}
ManifestLoader.add_implicit_resolver("tag:yaml.org,2002:int", _INT, list("-+0123456789"))
ManifestLoader.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+0123456789."))
ManifestLoader.add_constructor("tag:yaml.org,2002:int", _octal_aware_int)
