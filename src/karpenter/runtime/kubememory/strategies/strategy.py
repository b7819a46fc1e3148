"""The shape of what is known of one kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from karpenter.runtime.kube import RawObject
from karpenter.runtime.kubememory.refusals import Causes


def _leave(_: RawObject) -> None:
    """Change nothing."""


def _accept(_: RawObject, __: Causes) -> None:
    """Find nothing wrong."""


def _accept_update(_: RawObject, __: RawObject, ___: Causes) -> None:
    """Find nothing wrong."""


def _say_nothing(_: RawObject) -> Iterable[str]:
    return ()


@dataclass(frozen=True, slots=True)
class Strategy:
    """How objects of one kind come in."""

    default: Callable[[RawObject], None] = _leave
    """Fill in what a manifest may leave out; on every write."""
    begin: Callable[[RawObject], None] = _leave
    """Set the status of a new object, after any that the manifest brought was dropped."""
    allot: Callable[[RawObject], None] = _leave
    """Give an object what the server has of each but once: addresses, ports; on every write. Nobody manages these."""
    check: Callable[[RawObject, Causes], None] = _accept
    """Note what is wrong with an object."""
    check_update: Callable[[RawObject, RawObject, Causes], None] = _accept_update
    """Note what may not change between old and new, the status aside."""
    check_status: Callable[[RawObject, RawObject, Causes], None] = _accept_update
    """Note what may not change in the status; on every update."""
    warn: Callable[[RawObject], Iterable[str]] = _say_nothing
    """Tell what is doubtful about an object that is right."""
    brings_status: bool = False
    """Whether a new object keeps the status of its manifest, as a Node that registers."""
