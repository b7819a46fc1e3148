"""Events go an hour after they were last told."""

import pytest

from karpenter.model.units import to_rfc3339


def tell(api, name: str, **more) -> None:
    about = {"kind": "Pod", "namespace": "default", "name": "web"}
    api.create({"apiVersion": "v1", "kind": "Event", "metadata": {"name": name}, "involvedObject": about, **more})


@pytest.fixture
def told(api):
    tell(api, "old")
    api.clock.moment += 1800
    tell(api, "young")
    return api


def test_an_event_is_kept_for_an_hour(told) -> None:
    told.clock.moment += 1790
    tell(told, "new")
    assert told.names("events") == ["new", "old", "young"]
    told.clock.moment += 60
    tell(told, "newest")
    assert told.names("events") == ["new", "newest", "young"]


def test_an_event_that_is_told_again_starts_anew(told) -> None:
    told.patch("events", "old", {"count": 2, "lastTimestamp": to_rfc3339(told.clock.moment)})
    told.clock.moment += 3000
    tell(told, "new")
    assert told.names("events") == ["new", "old", "young"]


async def test_watchers_are_told(told) -> None:
    since = told.store.revision
    told.clock.moment += 2000
    tell(told, "new")
    with told.store.follow(told.kind("events"), revision=since) as follower:
        changes = await follower.next()
    assert [(change.type, change.after.key.name) for change in changes] == [("DELETED", "old"), ("ADDED", "new")]
