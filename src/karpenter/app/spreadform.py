"""The form of default spread constraints: a document in YAML or JSON (S-39)."""

from __future__ import annotations

from typing import Final

import msgspec
import yaml

from karpenter.app.forms import Form
from karpenter.app.manifests.yamltext import ManifestLoader
from karpenter.model.core import TopologySpreadConstraint
from karpenter.scheduling.defaults import read_default_spread


def _read(text: str) -> tuple[TopologySpreadConstraint, ...]:
    if text == "none":
        return ()
    try:
        document = yaml.load(text, ManifestLoader)  # noqa: S506 - a safe loader
    except yaml.YAMLError as error:
        raise ValueError(f"{text!r} is neither YAML nor `none`") from error
    return read_default_spread(document)


def _show(constraints: tuple[TopologySpreadConstraint, ...]) -> str:
    if not constraints:
        return "none"
    stated = [
        {key: value for key, value in msgspec.to_builtins(constraint).items() if value and key != "labelSelector"}
        for constraint in constraints
    ]
    return msgspec.json.encode({"podTopologySpread": {"defaultConstraints": stated}}).decode()


DEFAULT_SPREAD: Final = Form("document or `none`", _read, _show)
