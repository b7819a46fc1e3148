"""The simulated cloud in a file, so that its machines outlive the process."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from karpenter.app.errors import BadInputError

_SCHEMA = "CREATE TABLE IF NOT EXISTS cloud (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"


class CloudFile:
    """What a market gives to store, key by key, in SQLite. Each change is one transaction, done when the call returns.

    The market changes before its answer reaches anyone. So after a crash the cloud may have a machine that the cluster
    has not heard of, which a second launch for the same claim finds again; never the other way round.
    """

    def __init__(self, path: Path) -> None:
        """Open or create the file. Raises BadInputError when it cannot be used."""
        try:
            self._db = sqlite3.connect(path, isolation_level=None, timeout=0)
            self._db.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.execute(_SCHEMA)
        except sqlite3.Error as error:
            raise BadInputError(f"--data: {path} cannot be opened ({error}); is another demo using it?") from error

    def saved(self) -> Mapping[str, Any] | None:
        """Return what was stored; None when the file is new."""
        rows = self._db.execute("SELECT key, value FROM cloud").fetchall()
        return {key: json.loads(value) for key, value in rows} or None

    def store(self, changes: Mapping[str, Any]) -> None:
        """Store what changed; None forgets a key."""
        gone = [(key,) for key, value in changes.items() if value is None]
        kept = [(key, json.dumps(value)) for key, value in changes.items() if value is not None]
        with self._db:
            self._db.execute("BEGIN")
            self._db.executemany("DELETE FROM cloud WHERE key = ?", gone)
            self._db.executemany("REPLACE INTO cloud VALUES (?, ?)", kept)

    def close(self) -> None:
        """Release the file."""
        self._db.close()
