"""What holds whatever is written: watches tell what lists show, the past stays as it was, sets of fields survive."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from karpenter.runtime.kube import AlreadyExists, NotFound
from karpenter.runtime.kubememory.fieldsets import from_fields_v1, leaves, to_fields_v1
from karpenter.runtime.kubememory.schema.builtin import builtin_schema
from karpenter.runtime.kubememory.selectors import select
from tests.runtime.kubememory.api import Api, a_config, a_deployment

names = st.sampled_from(["a", "b", "c"])
labels = st.dictionaries(st.sampled_from(["app", "tier"]), st.sampled_from(["x", "y"]))
steps = st.one_of(
    st.tuples(st.just("create"), names, labels),
    st.tuples(st.just("label"), names, labels),
    st.tuples(st.just("delete"), names, st.just({})),
)
selectors = st.sampled_from(["", "app=x", "app!=x", "app in (x,y),!tier", "tier"])


def do(api: Api, step) -> None:
    what, name, wanted = step
    try:
        if what == "create":
            api.create(a_config(name, labels=wanted))
        elif what == "delete":
            api.delete("configmaps", name)
        else:
            patch = {"metadata": {"labels": {key: wanted.get(key) for key in ("app", "tier")}}}
            api.patch("configmaps", name, patch)
    except (AlreadyExists, NotFound):
        pass


async def told(api: Api, *, since: int, wanted) -> dict[str, bytes]:
    """Return what someone knows who followed a selection from a version on, knowing nothing before it."""
    known: dict[str, bytes] = {}
    with api.store.follow(api.kind("configmaps"), revision=since) as follower:
        for change in await follower.next(within_s=0) or ():
            if seen := change.seen_by(wanted):
                word, record = seen
                assert (word == "ADDED") is (record.key.name not in known)
                if word == "DELETED":
                    del known[record.key.name]
                else:
                    known[record.key.name] = record.data
    return known


@given(st.lists(steps, max_size=30), selectors)
def test_who_watches_knows_what_a_list_shows(plan, selector) -> None:
    api = Api()
    since = api.store.revision
    for step in plan:
        do(api, step)
    wanted = select(api.kind("configmaps"), label_selector=selector)
    listed = {record.key.name: record.data for record in api.store.list(api.kind("configmaps"), wanted)}
    assert asyncio.run(told(api, since=since, wanted=wanted)) == listed


@given(st.lists(steps, max_size=20))
def test_the_past_is_told_as_it_was(plan) -> None:
    api = Api()
    kind = api.kind("configmaps")
    seen = {api.store.revision: [record.data for record in api.store.list(kind)]}
    for step in plan:
        do(api, step)
        seen[api.store.revision] = [record.data for record in api.store.list(kind)]
    for revision, listed in seen.items():
        assert [record.data for record in api.store.list(kind, revision=revision)] == listed


@given(st.lists(st.sampled_from(["main", "side", "proxy"]), unique=True, min_size=1), st.booleans())
def test_a_set_of_fields_is_the_same_when_it_is_read_back(containers, has_labels) -> None:
    ports = [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]
    template = {"containers": [{"name": name, "image": "a", "ports": ports} for name in containers]}
    manifest = a_deployment(template=template)
    if has_labels:
        manifest["metadata"] |= {"labels": {"a.b/c": "d"}, "finalizers": ["example.com/x"]}
    paths = frozenset(leaves(manifest, builtin_schema("apps", "Deployment")))
    assert from_fields_v1(to_fields_v1(paths)) == paths
