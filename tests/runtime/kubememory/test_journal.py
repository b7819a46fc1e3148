"""A cluster that survives its process."""

import os
import signal
import sqlite3
import subprocess
import sys

import pytest

from karpenter.runtime.kubememory.journal import JournalError, SqliteJournal
from tests.runtime.kubememory.api import Api, a_config, a_pod, a_widget


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cluster.db"


def test_everything_is_there_after_a_restart(path) -> None:
    journal = SqliteJournal(path)
    api = Api(journal=journal)
    api.create(a_config(data={"k": "v"}))
    api.create(a_config("gone"))
    api.patch("configmaps", "settings", {"data": {"k": "w"}})
    api.delete("configmaps", "gone")
    kept, revision = api.get("configmaps", "settings"), api.store.revision
    journal.close()

    again = Api(journal=SqliteJournal(path))
    assert again.names("configmaps") == ["settings"]
    assert again.get("configmaps", "settings") == kept
    assert again.store.revision == revision


def test_custom_kinds_are_served_again_with_their_objects(path) -> None:
    journal = SqliteJournal(path)
    api = Api(journal=journal)
    api.define()
    api.create(a_widget(size=2))
    journal.close()
    again = Api(journal=SqliteJournal(path))
    assert again.get("widgets", "w1")["spec"] == {"size": 2, "color": "red"}


def test_selectors_find_what_was_restored(path) -> None:
    journal = SqliteJournal(path)
    Api(journal=journal).create(a_pod(labels={"app": "web"}, spec={"nodeName": "n1"}))
    journal.close()
    again = Api(journal=SqliteJournal(path))
    assert again.names("pods", label_selector="app=web", field_selector="spec.nodeName=n1") == ["web"]


async def test_a_watch_resumes_at_the_last_version_and_not_before(path) -> None:
    journal = SqliteJournal(path)
    before = Api(journal=journal)
    before.create(a_config("a"))
    journal.close()
    again = Api(journal=SqliteJournal(path))
    with again.store.follow(again.kind("configmaps"), revision=before.store.revision) as follower:
        again.create(a_config("b"))
        assert [change.after.key.name for change in await follower.next()] == ["b"]


def test_uids_differ_after_a_restart_with_the_same_seed(path) -> None:
    journal = SqliteJournal(path)
    first = Api(journal=journal).create(a_config("a"))["metadata"]["uid"]
    journal.close()
    again = Api(journal=SqliteJournal(path))
    assert again.create(a_config("b"))["metadata"]["uid"] != first


def test_a_write_that_is_not_kept_did_not_happen(path, monkeypatch) -> None:
    journal = SqliteJournal(path)
    api = Api(journal=journal)
    journal.close()
    revision = api.store.revision
    with pytest.raises(sqlite3.ProgrammingError):
        api.create(a_config())
    assert (api.names("configmaps"), api.store.revision) == ([], revision)


def test_a_journal_is_used_by_one_process_at_a_time(path) -> None:
    SqliteJournal(path)
    with pytest.raises(JournalError, match="is another process using it"):
        SqliteJournal(path)


def test_a_file_that_is_no_journal_is_refused(path) -> None:
    path.write_bytes(b"this is a diary, dear reader, and no database at all" * 100)
    with pytest.raises(JournalError, match="is no journal of a cluster"):
        SqliteJournal(path)


def test_a_journal_of_another_format_is_refused(path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(JournalError, match="format 99, this one reads 1"):
        SqliteJournal(path)


WRITER = """
import itertools, sys
from pathlib import Path
from karpenter.runtime.kubememory.journal import SqliteJournal
from tests.runtime.kubememory.api import Api, a_config

api = Api(journal=SqliteJournal(Path(sys.argv[1])))
for number in itertools.count():
    api.create(a_config(f"c{number}"))
    print(f"c{number}", flush=True)
"""


def test_no_acknowledged_write_is_lost_when_the_process_is_killed(path) -> None:
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    acknowledged = [writer.stdout.readline().strip() for _ in range(200)]
    os.kill(writer.pid, signal.SIGKILL)
    acknowledged += [line.strip() for line in writer.stdout if line.endswith("\n")]
    writer.wait()
    writer.stdout.close()
    kept = Api(journal=SqliteJournal(path)).names("configmaps")
    assert len(acknowledged) >= 200
    assert set(acknowledged) <= set(kept)
    assert len(kept) <= len(acknowledged) + 1
