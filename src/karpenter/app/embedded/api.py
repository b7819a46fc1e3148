"""The API of the demo's cluster: it knows our kinds, and needs nothing else of the cluster to answer."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Final

from karpenter.app.embedded.admission import admission
from karpenter.app.errors import BadInputError
from karpenter.model import crds
from karpenter.model.units import ObjectKey
from karpenter.runtime.clock import Clock
from karpenter.runtime.kube import AlreadyExists
from karpenter.runtime.kubememory import MemoryKubeClient, MemoryStore
from karpenter.runtime.kubememory.journal import JournalError, SqliteJournal
from karpenter.runtime.metrics import Metrics

CLUSTER_FILE: Final = "cluster.sqlite"


class EmbeddedApi:
    """Objects, and what they are kept in. `close` it afterwards, so that its file is released."""

    def __init__(self, clock: Clock, data: Path | None = None, *, draw: random.Random | None = None) -> None:
        """`data` is an existing folder that keeps the cluster; None keeps nothing. Raises BadInputError on bad data.

        `draw` gives names and uids; None draws others every time.
        """
        self.clock = clock
        self.data = data
        self.metrics = Metrics(clock)
        self._journal = _open_journal(data)
        self.store = MemoryStore(clock, journal=self._journal, rng=draw)
        self.store.admission.append(admission())
        self.client = MemoryKubeClient(self.store)
        define_kinds(self.store)

    def close(self) -> None:
        """Release the file."""
        if self._journal is not None:
            self._journal.close()


def define_kinds(store: MemoryStore) -> None:
    """Create our CustomResourceDefinitions, or bring those that an older version created up to date."""
    kind = store.registry.find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
    for definition in crds.load():
        try:
            store.create(kind, definition)
        except AlreadyExists:
            store.patch(kind, ObjectKey("", definition["metadata"]["name"]), {"spec": definition["spec"]})


def _open_journal(data: Path | None) -> SqliteJournal | None:
    if data is None:
        return None
    try:
        return SqliteJournal(data / CLUSTER_FILE)
    except JournalError as error:
        raise BadInputError(f"--data: {error}") from error
