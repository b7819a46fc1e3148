"""`karpenter pause` and `karpenter resume`: the switch in the cluster that every controller of ours obeys at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from karpenter.app.connecting import connected
from karpenter.app.errors import BadInputError, SettingsError
from karpenter.app.process import run_process
from karpenter.model.pause import CLUSTER, CONFIG_MAP, POOL_PREFIX, Level, read_pauses
from karpenter.runtime.kube import CONFIG_MAPS, KubeClient, NotFound

AllFlag = Annotated[bool, Parameter(name="--all", negative=())]
Flag = Annotated[bool, Parameter(negative=())]
Edit = Callable[[Mapping[str, str]], Mapping[str, str | None]]
"""From the switch's data to what changes in it; None takes a key out."""


def pause(
    *,
    pool: str | None = None,
    disruption: Flag = False,
    all_: AllFlag = False,
    kubeconfig: Path | None = None,
    namespace: str = "kube-system",
) -> None:
    """Stop the controllers of a cluster, within seconds and over restarts, until karpenter resume.

    Parameters
    ----------
    pool
        Only for the pools of this name; otherwise for all of them.
    disruption
        Take no node by choice; pods still get nodes, and drains that people asked for go on.
    all_
        Launch, drain and take nothing, whoever asked for it. This is what happens without a flag.
    kubeconfig
        How to reach the API server; without it KUBECONFIG, the pod's service account or ~/.kube/config.
    namespace
        Where the controllers run.
    """
    if disruption and all_:
        raise SettingsError("--disruption and --all: give one of them")
    level: Level = "disruption" if disruption else "everything"
    _run(pausing(pool, level), kubeconfig, namespace)


def resume(
    *,
    pool: str | None = None,
    disruption: Flag = False,
    all_: AllFlag = False,
    kubeconfig: Path | None = None,
    namespace: str = "kube-system",
) -> None:
    """End a pause.

    Parameters
    ----------
    pool
        End that of the pools of this name; otherwise that of the cluster as a whole.
    disruption
        End it only if disruption is all that it pauses.
    all_
        End every pause there is.
    kubeconfig
        How to reach the API server; without it KUBECONFIG, the pod's service account or ~/.kube/config.
    namespace
        Where the controllers run.
    """
    if all_ and (pool or disruption):
        raise SettingsError("--all ends every pause there is: leave --pool and --disruption out")
    edit = dict.fromkeys if all_ else resuming(pool, only_disruption=disruption)
    _run(edit, kubeconfig, namespace)


def pausing(pool: str | None, level: Level) -> Edit:
    """Return the change that pauses the pools of a name, or everything."""
    return lambda _: {_key(pool): level}


def resuming(pool: str | None, *, only_disruption: bool) -> Edit:
    """Return the change that ends a pause. Raises BadInputError when there is none of that kind."""

    def edit(data: Mapping[str, str]) -> Mapping[str, str | None]:
        key = _key(pool)
        whose = f"pool {pool}" if pool else "the cluster"
        if key not in data:
            raise BadInputError(f"{whose} is not paused; now: {words(data)}")
        pauses = read_pauses(data)
        level = pauses.pools[pool] if pool else pauses.cluster
        if only_disruption and level != "disruption":
            raise BadInputError(f"{whose} is paused altogether, not only its disruption: leave --disruption out")
        return {key: None}

    return edit


async def change(client: KubeClient, namespace: str, edit: Edit) -> Mapping[str, str]:
    """Change the switch of a cluster; return its data as they are then."""
    try:
        found = await client.get(CONFIG_MAPS, CONFIG_MAP, namespace=namespace)
    except NotFound:
        data = edit({})
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": CONFIG_MAP}, "data": data}
        written = await client.create(CONFIG_MAPS, body, namespace=namespace)
    else:
        patch = {"data": edit(found.get("data") or {})}
        written = await client.patch(CONFIG_MAPS, CONFIG_MAP, patch, namespace=namespace)
    return written.get("data") or {}


def words(data: Mapping[str, str]) -> str:
    """Return in words what is paused."""
    pauses = read_pauses(data)
    levels = {"the cluster": pauses.cluster} if pauses.cluster else {}
    levels |= {f"pool {name}": level for name, level in sorted(pauses.pools.items())}
    told = [f"{level} of {whose}" for whose, level in levels.items()]
    return f"paused: {', '.join(told)}" if told else "nothing is paused"


def _key(pool: str | None) -> str:
    return f"{POOL_PREFIX}{pool}" if pool else CLUSTER


def _run(edit: Edit, kubeconfig: Path | None, namespace: str) -> None:
    run_process(_change(edit, kubeconfig, namespace))


async def _change(edit: Edit, kubeconfig: Path | None, namespace: str) -> None:
    async with connected(kubeconfig) as client:
        print(words(await change(client, namespace, edit)))
