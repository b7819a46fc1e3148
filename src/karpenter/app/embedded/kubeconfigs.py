"""Where the demo's kubeconfig goes, without ever writing over somebody's own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import yaml

from karpenter.app.errors import SettingsError


def write_kubeconfig(path: Path, text: str, *, flag: str = "") -> None:
    """Write a kubeconfig that only its owner can read; one that says the same already stays as it is.

    Raises:
        SettingsError: `flag` asked for a path at which something else stands, or that cannot be written.
    """
    try:
        present = path.read_text(encoding="utf-8") if path.exists() else None
        if present is not None and _access(present) == _access(text):
            return  # the user may have chosen a namespace in it
        if present is not None and flag and not _is_ours(present, text):
            raise SettingsError(f"{flag} {path}: there is another kubeconfig, choose a path at which nothing stands")
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f".{path.name}.new")
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        fresh.replace(path)
    except OSError as error:
        raise SettingsError(f"{flag or 'kubeconfig'} {path}: {(error.strerror or str(error)).lower()}") from error


def _access(text: str) -> tuple[object, object]:
    """Return what a kubeconfig gives access to, and how."""
    config = _parsed(text)
    return config.get("clusters"), config.get("users")


def _is_ours(present: str, text: str) -> bool:
    """Whether the file names no clusters but those of the new one, as an earlier demo's does."""
    names = [{each.get("name") for each in _parsed(each).get("clusters") or ()} for each in (present, text)]
    return names[0] == names[1]


def _parsed(text: str) -> dict[str, Any]:
    try:
        parsed = yaml.safe_load(text)
    except yaml.YAMLError:
        return {}
    return parsed if isinstance(parsed, dict) else {}
