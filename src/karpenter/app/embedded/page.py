"""The status page: nodes, pools and waiting pods, as one small HTML page without scripts. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from karpenter.model.resources import CPU, MEMORY, NODES, format_amount
from karpenter.scheduling.snapshot import NodeView, PoolView, Snapshot

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color: #1c2733 }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2rem }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: .25rem .75rem .25rem 0 }
th { border-bottom: 1px solid #9aa7b4; font-weight: 600 } td { border-bottom: 1px solid #e3e8ed }
td.number, th.number { text-align: right; white-space: nowrap } div { overflow-x: auto } p.quiet { color: #5b6875 }
@media (prefers-color-scheme: dark) { body { background: #14191f; color: #dde4eb } td { border-color: #2a333d } }
"""
_REFRESH_S = 3
_NUMBERS = frozenset({"$/h", "pods", "cpu", "memory", "nodes", "weight"})


def status_page(snapshot: Snapshot, *, version: str, note: str = "") -> str:
    """Return the page for one moment; the browser asks again every few seconds. `note` says what to try next."""
    sections = (
        _section("Nodes", _nodes(snapshot.nodes), "none yet: nodes come when pods wait for them"),
        _section("Pools", _pools(snapshot.pools), "none yet: apply a Provisioner or a NodePool"),
        _section("Pods that wait for a node", _pending(snapshot), "none"),
    )
    price = sum(view.price or 0.0 for view in snapshot.nodes)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Karpenter</title>'
        f'<meta http-equiv="refresh" content="{_REFRESH_S}"><style>{_STYLE}</style></head><body>'
        f"<h1>Karpenter {escape(version)}</h1>"
        f"<p>{len(snapshot.nodes)} nodes for ${price:.4f} an hour, {len(snapshot.pending)} pods wait.</p>"
        f"{''.join(sections)}"
        f'<p class="quiet">{escape(note)}</p></body></html>'
    )


def loading_page(*, version: str) -> str:
    """Return the page for the first second or two, while everything but the API is still being loaded."""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Karpenter</title>'
        f'<meta http-equiv="refresh" content="1"><style>{_STYLE}</style></head><body>'
        f"<h1>Karpenter {escape(version)}</h1><p>The API answers; scheduler, cloud and controllers are starting.</p>"
        "</body></html>"
    )


def _section(title: str, rows: Sequence[Sequence[str]], otherwise: str) -> str:
    if len(rows) < 2:  # the first row has the headings
        return f'<h2>{escape(title)}</h2><p class="quiet">{escape(otherwise)}</p>'
    kinds = ["number" if heading in _NUMBERS else "" for heading in rows[0]]
    head = "".join(_cell("th", kind, text) for kind, text in zip(kinds, rows[0], strict=True))
    body = "".join(
        "<tr>" + "".join(_cell("td", kind, text) for kind, text in zip(kinds, row, strict=True)) + "</tr>"
        for row in rows[1:]
    )
    return f"<h2>{escape(title)}</h2><div><table><tr>{head}</tr>{body}</table></div>"


def _cell(tag: str, kind: str, text: str) -> str:
    return f'<{tag} class="{kind}">{escape(text)}</{tag}>' if kind else f"<{tag}>{escape(text)}</{tag}>"


def _nodes(views: Iterable[NodeView]) -> list[tuple[str, ...]]:
    heading = ("name", "pool", "type", "zone", "capacity", "$/h", "pods", "state")
    return [heading, *(_node(view) for view in views)]


def _node(view: NodeView) -> tuple[str, ...]:
    return (
        view.name,
        str(view.pool or "–"),
        view.instance_type or "–",
        view.zone or "–",
        view.capacity_type or "–",
        "–" if view.price is None else f"{view.price:.4f}",
        str(len(view.pods)),
        _state(view),
    )


def _state(view: NodeView) -> str:
    if view.is_deleting:
        return "leaving"
    if view.node is None:
        return "launching"
    return "ready" if view.is_initialized else "starting"


def _pools(views: Iterable[PoolView]) -> list[tuple[str, ...]]:
    heading = ("name", "weight", "nodes", "cpu", "memory", "state")
    return [heading, *(_pool(view) for view in views)]


def _pool(view: PoolView) -> tuple[str, ...]:
    return (
        str(view.pool.key),
        str(view.pool.weight),
        str(view.usage.get(NODES, 0)),
        _of_limit(view, CPU),
        _of_limit(view, MEMORY),
        view.unready or "ready",
    )


def _of_limit(view: PoolView, resource: str) -> str:
    used = _amount(resource, view.usage.get(resource, 0))
    limit = view.pool.limits.get(resource)
    return used if limit is None else f"{used} of {_amount(resource, limit)}"


def _amount(resource: str, value: int) -> str:
    return f"{value / 2**30:.0f} GiB" if resource == MEMORY else format_amount(resource, value)


def _pending(snapshot: Snapshot) -> list[tuple[str, ...]]:
    return [
        ("name", "since"),
        *((str(pod.metadata.key), _since(pod.metadata.creation_timestamp)) for pod in snapshot.pending),
    ]


def _since(timestamp: str | None) -> str:
    return timestamp or "–"
