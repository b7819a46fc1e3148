"""What the operator keeps in ConfigMaps of its cluster, read from a dump or a live cluster as it reads it itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from karpenter.app.manifests.load import Input
from karpenter.app.manifests.problems import InputError, Problem
from karpenter.disruption.book import Book
from karpenter.disruption.ledger import KEY
from karpenter.model.core import ConfigMap
from karpenter.model.pause import CONFIG_MAP as PAUSE
from karpenter.model.pause import Pauses, read_pauses
from karpenter.state.memory import CONFIG_MAP as MEMORY

NAMES: Final = (PAUSE, MEMORY)
"""Names of these ConfigMaps."""


def pauses_in(given: Input) -> Pauses:
    """Return what is paused."""
    return read_pauses(_texts(given, PAUSE))


def book_in(given: Input) -> Book:
    """Return what is remembered of consolidation. Raises InputError when that cannot be read."""
    text = _texts(given, MEMORY).get(KEY)
    if text is None:
        return Book()
    try:
        return msgspec.json.decode(text, type=Book)
    except msgspec.DecodeError as error:
        raise InputError((Problem("", f"ConfigMap {MEMORY}", f"data.{KEY}: {error}; leave the key out"),)) from error


def _texts(given: Input, name: str) -> Mapping[str, str]:
    """Return the data of the ConfigMap of this name; of several namespaces' the last one's, as of one cluster."""
    found = [each for each in given.objects.of(ConfigMap) if each.metadata.name == name]
    return found[-1].data if found else {}
