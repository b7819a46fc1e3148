"""Checks of the parts of an EC2NodeClass that are kept as they are: interfaces, connection tracking, CPU options.

Source: spec v1 §1.8.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from karpenter.model.reading import Reader

MOST_INTERFACES: Final = 150
_TRACKING_S: Final = {
    "tcpEstablishedTimeout": (60, 432_000),
    "udpStreamTimeout": (60, 180),
    "udpTimeout": (30, 60),
}


def check_network_interfaces(spec: Reader) -> None:
    """Note what is wrong with `networkInterfaces`: one primary, no place taken twice, one efa-only a card."""
    name = "networkInterfaces"
    parts = spec.parts(name)
    if not spec.has(name):
        return
    if len(parts) > MOST_INTERFACES:
        spec.fail(name, f"has {len(parts)} interfaces", f"at most {MOST_INTERFACES}")
    found = [_read_interface(part) for part in parts]
    if not any(kind == "interface" and (card, device) == (0, 0) for card, device, kind in found):
        spec.fail(name, "has no primary one", "add card 0, device 0 of type interface")
    for place, count in Counter((card, device) for card, device, _ in found).items():
        if count > 1:
            spec.fail(name, f"has {count} interfaces at card {place[0]}, device {place[1]}")
    for card, count in Counter(card for card, _, kind in found if kind == "efa-only").items():
        if count > 1:
            spec.fail(name, f"has {count} efa-only interfaces on card {card}", "at most one a card")


def _read_interface(part: Reader) -> tuple[int | None, int | None, str | None]:
    for name in ("networkCardIndex", "deviceIndex", "interfaceType"):
        if not part.has(name):
            part.fail(name, "is required")
    return (
        part.integer("networkCardIndex", minimum=0),
        part.integer("deviceIndex", minimum=0),
        part.choice("interfaceType", ("interface", "efa-only")),
    )


def check_connection_tracking(spec: Reader) -> None:
    """Note what is wrong with `connectionTracking`: seconds within EC2's bounds, at least one of them."""
    tracking = spec.part("connectionTracking")
    for name, (least, most) in _TRACKING_S.items():
        tracking.integer(name, minimum=least, maximum=most)
    if spec.has("connectionTracking") and not any(tracking.has(name) for name in _TRACKING_S):
        tracking.fail("", f"expected at least one of {', '.join(_TRACKING_S)}")


def check_cpu_options(spec: Reader) -> None:
    """Note what is wrong with `cpuOptions`."""
    spec.part("cpuOptions").choice("nestedVirtualization", ("enabled", "disabled"))
