"""`karpenter explain`: why things are as they are."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from cyclopts import Parameter

from karpenter.app.connecting import connected
from karpenter.app.errors import BadInputError
from karpenter.app.manifests.live import read_cluster
from karpenter.app.manifests.load import Input
from karpenter.app.process import run_process
from karpenter.app.settings import Settings, read_settings
from karpenter.app.simulation.case import Case, Circumstances, case_of, moment, past_of, read_case
from karpenter.app.simulation.dumps import completed
from karpenter.app.simulation.fleet import blocked_data, node_view_data
from karpenter.disruption.options import DisruptionOptions
from karpenter.disruption.staying import all_stays
from karpenter.disruption.verdict import Blocked
from karpenter.model.pods import is_reschedulable
from karpenter.model.units import UnixSeconds, to_rfc3339
from karpenter.scheduling.policy import Options
from karpenter.scheduling.snapshot import NodeView, Snapshot


def explain_node(
    name: str,
    /,
    *,
    file: Annotated[tuple[str, ...], Parameter(name=["--file", "-f"], negative=(), allow_leading_hyphen=True)] = (),
    kubeconfig: Path | None = None,
    namespace: str = "kube-system",
    output: Annotated[Literal["text", "json", "yaml"], Parameter(name=["--output", "-o"])] = "text",
    catalog: Annotated[Path | None, Parameter(name="--catalog")] = None,
    seed: int = 0,
    now: Annotated[str | None, Parameter(show_default=False)] = None,
    set_: Annotated[tuple[str, ...], Parameter(name="--set", negative=(), show_default=False)] = (),
) -> int:
    """Say why a node stays, since when, and what that costs per hour.

    It reads the cluster and asks the operator's own methods what they make of it. Nothing is changed.

    Parameters
    ----------
    name
        Of the node, or of its NodeClaim.
    file
        A dump to look at instead of the cluster: a file, a folder, or `-` for standard input.
    kubeconfig
        How to reach the API server; without it KUBECONFIG, the pod's service account or ~/.kube/config.
    namespace
        Where the controllers run.
    output
        How to print the answer.
    catalog
        Instance types from this file instead of those of AWS.
    seed
        Fixes spot prices.
    now
        The time to judge at, such as 2026-11-30T12:00:00Z.
    set_
        A setting that the operator runs with, KEY=VALUE. May be given several times.
    """
    settings = read_settings(set_, os.environ)
    around = Circumstances(catalog=catalog, seed=seed, now=now)
    case = (
        read_case(file, settings, around)
        if file
        else _live_case(settings, around, run_process(read_live(kubeconfig, namespace)))
    )
    answer = answer_for(case, settings, name)
    match output:
        case "text":
            print("\n".join(_lines(answer)))
        case "json":
            print(json.dumps(_data(answer), indent=2))
        case "yaml":
            print(yaml.dump(_data(answer), Dumper=yaml.SafeDumper, sort_keys=False, allow_unicode=True), end="")
    return 0


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why one node stays."""

    view: NodeView
    stays: tuple[Blocked, ...]
    """The strongest reason first."""
    now: UnixSeconds


def answer_for(case: Case, settings: Settings, name: str) -> Explanation:
    """Return why the node of this name stays. Raises BadInputError when there is none."""
    snapshot = completed(case.snapshot)
    view = _view(snapshot, name)
    options = DisruptionOptions(Options(policy=settings.policy), settings.expiration, past_of(case, settings.policy))
    return Explanation(view, all_stays(snapshot, options)[view.name], snapshot.taken_at)


def _view(snapshot: Snapshot, name: str) -> NodeView:
    for view in snapshot.nodes:
        if name in {view.name, view.claim.name if view.claim else view.name}:
            return view
    raise BadInputError(f"there is no node or nodeclaim {name!r}; kubectl get nodes lists them")


def _live_case(settings: Settings, around: Circumstances, found: Input | None) -> Case:
    if found is None:
        raise KeyboardInterrupt
    return case_of(found, settings, around, now=moment(around.now))


async def read_live(kubeconfig: Path | None, namespace: str) -> Input:
    """Return the objects of a cluster. Raises as `read_cluster` and `connected` do."""
    async with connected(kubeconfig) as client:
        return await read_cluster(client, namespace=namespace)


def _data(answer: Explanation) -> Mapping[str, Any]:
    view = answer.view
    return {
        **node_view_data(view),
        "pool": None if view.pool is None else {"kind": view.pool.kind, "name": view.pool.name},
        "stays": [blocked_data(one) for one in answer.stays],
    }


def _lines(answer: Explanation) -> Sequence[str]:
    view, (first, *others) = answer.view, answer.stays
    moving = sum(is_reschedulable(pod) for pod in view.pods)
    kind = ", ".join(str(part) for part in (view.instance_type, view.zone, view.capacity_type, view.pool) if part)
    price = "a price that nobody knows" if view.price is None else f"${view.price:.4f} an hour"
    return [
        f"Node {view.name} {_verb(first)}: {first.message}",
        f"  code   {first.code}{f' (it would go as {first.reason})' if first.reason else ''}",
        f"  since  {_when(first.since, answer.now)}",
        *([f"  until  {_when(first.until, answer.now)}"] if first.until is not None else []),
        f"  costs  {price}{f' ({kind})' if kind else ''}",
        f"  pods   {len(view.pods)}, of which {moving} would have to move",
        *(f"  also   {one.code}{f' ({one.reason})' if one.reason else ''}: {one.message}" for one in others),
    ]


def _verb(first: Blocked) -> str:
    return {"Leaving": "goes", "NextTurn": "is about to go"}.get(first.code, "stays")


def _when(at: UnixSeconds | None, now: UnixSeconds) -> str:
    if at is None:
        return "not known"
    return f"{to_rfc3339(at)}, {_span(abs(now - at))} {'ago' if at <= now else 'from now'}"


def _span(seconds: float) -> str:
    """Return a length of time in its two largest units: `2h5m`."""
    left = int(seconds)
    parts = []
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts[:2]) or "0s"
