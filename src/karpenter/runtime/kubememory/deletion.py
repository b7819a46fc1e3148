"""What a request to delete does to an object: finalizers and grace periods keep it for a while."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from karpenter.model.units import UnixSeconds, from_rfc3339, to_rfc3339
from karpenter.runtime.kube import Conflict, Propagation, RawObject
from karpenter.runtime.kubememory.refusals import details, forbidden
from karpenter.runtime.kubememory.resources import ApiResource

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"
_DEFAULT_GRACE_S: Final = 30
_IMMORTAL_NAMESPACES: Final = ("default", "kube-public", "kube-system")


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """How to delete."""

    grace_period_s: int | None = None
    """For pods: seconds to stop in; None for what the pod says."""
    uid: str = ""
    """Only this very object; empty for any."""
    resource_version: str = ""
    """Only this version of it; empty for any."""
    propagation: Propagation | None = None
    """What becomes of the objects it owns; None leaves the finalizers as they are, which means Background."""
    dry_run: bool = False


PLAIN_DELETE: Final = DeleteOptions()


def check_preconditions(resource: ApiResource, tree: RawObject, options: DeleteOptions) -> None:
    """Raise Conflict when the object is not the one that the caller means."""
    metadata = tree["metadata"]
    for words, wanted, actual, happened in (
        ("UID", options.uid, metadata.get("uid", ""), "deleted and then recreated"),
        ("ResourceVersion", options.resource_version, metadata["resourceVersion"], "modified"),
    ):
        if wanted and wanted != actual:
            why = f"the {words} in the precondition ({wanted}) does not match the {words} in record ({actual})"
            kind = resource.kind + (f".{resource.group}" if resource.group else "")
            raise Conflict(
                f'Operation cannot be fulfilled on {kind} "{metadata["name"]}": {why}. The object might have been '
                f"{happened}",
                details=details(resource, metadata["name"], kind=resource.kind),
            )


def request_deletion(resource: ApiResource, tree: RawObject, options: DeleteOptions, *, now: UnixSeconds) -> bool:
    """Mark an object as being deleted and return whether it can go at once.

    A bound, running pod stays until its kubelet deletes it with grace 0; anything with finalizers until they are gone.
    A second request can only shorten the grace period.
    """
    metadata = tree["metadata"]
    _set_propagation(metadata, options.propagation)
    if resource.key == ("", "pods"):
        remaining_s = _pod_grace(tree, options, now)
    else:
        remaining_s = 0
        if _is_held(tree) and "deletionTimestamp" not in metadata:
            _mark(resource, metadata, now=now, grace_s=0)
            if resource.key == ("", "namespaces"):
                del metadata["deletionGracePeriodSeconds"]
                tree.setdefault("status", {})["phase"] = "Terminating"
    return remaining_s == 0 and not _is_held(tree)


def check_deletable(resource: ApiResource, name: str) -> None:
    """Raise Forbidden for the namespaces that a cluster cannot be without."""
    if resource.key == ("", "namespaces") and name in _IMMORTAL_NAMESPACES:
        raise forbidden(resource, name, "this namespace may not be deleted")


def is_released(tree: RawObject) -> bool:
    """Return whether an object that is being deleted has nothing left that keeps it."""
    metadata = tree["metadata"]
    return "deletionTimestamp" in metadata and not metadata.get("deletionGracePeriodSeconds") and not _is_held(tree)


def _is_held(tree: RawObject) -> bool:
    # A namespace has finalizers of its own in spec: its contents go first.
    own = tree.get("spec", {}).get("finalizers") if tree["kind"] == "Namespace" else None
    return bool(tree["metadata"].get("finalizers") or own)


def _set_propagation(metadata: dict[str, Any], propagation: Propagation | None) -> None:
    if propagation is None:
        return
    kept = [name for name in metadata.get("finalizers") or () if name not in (FOREGROUND, ORPHAN)]
    added = {"Foreground": [FOREGROUND], "Orphan": [ORPHAN], "Background": []}[propagation]
    if kept or added:
        metadata["finalizers"] = kept + added
    else:
        metadata.pop("finalizers", None)


def _pod_grace(pod: RawObject, options: DeleteOptions, now: UnixSeconds) -> int:
    metadata = pod["metadata"]
    if "deletionTimestamp" in metadata:
        return _shorten(metadata, options.grace_period_s, now)
    grace_s = options.grace_period_s
    if grace_s is None:
        grace_s = pod.get("spec", {}).get("terminationGracePeriodSeconds", _DEFAULT_GRACE_S)
    if grace_s < 0:
        grace_s = 1
    if not pod.get("spec", {}).get("nodeName") or pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
        grace_s = 0  # there is nothing that a kubelet would have to stop
    _mark(None, metadata, now=now, grace_s=grace_s)
    return int(grace_s)


def _shorten(metadata: dict[str, Any], grace_s: int | None, now: UnixSeconds) -> int:
    current_s = int(metadata.get("deletionGracePeriodSeconds") or 0)
    if grace_s is None or max(0, grace_s) >= current_s:
        return current_s
    wanted_s = max(0, grace_s)
    deadline = from_rfc3339(metadata["deletionTimestamp"]) - current_s + wanted_s
    metadata["deletionTimestamp"] = to_rfc3339(UnixSeconds(max(deadline, now)))
    metadata["deletionGracePeriodSeconds"] = wanted_s
    return wanted_s


def _mark(resource: ApiResource | None, metadata: dict[str, Any], *, now: UnixSeconds, grace_s: int) -> None:
    metadata["deletionTimestamp"] = to_rfc3339(UnixSeconds(now + grace_s))
    metadata["deletionGracePeriodSeconds"] = grace_s
    if resource is not None and resource.counts_generation:
        metadata["generation"] = metadata.get("generation", 0) + 1
