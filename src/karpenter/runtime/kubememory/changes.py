"""What an update may change: each way of writing owns a part of the object."""

from __future__ import annotations

from karpenter.runtime.kube import BadRequest, RawObject
from karpenter.runtime.kubememory.metadata import keep_server_owned
from karpenter.runtime.kubememory.refusals import Causes, conflict
from karpenter.runtime.kubememory.resources import ApiResource

_IDENTITY = ("apiVersion", "kind", "metadata")


def check_same_object(resource: ApiResource, old: RawObject, new: RawObject) -> None:
    """Raise Conflict when the writer read another version, BadRequest when it speaks of another object."""
    before, after = old["metadata"], new["metadata"]
    name = before["name"]
    if after.get("name") not in (None, name):
        raise BadRequest(
            f"the name of the object ({after['name']}) does not match the name on the URL ({name})",
        )
    if after.get("uid") not in (None, "", before["uid"]):
        raise conflict(
            resource,
            name,
            f"Precondition failed: UID in precondition: {after['uid']}, UID in object meta: {before['uid']}",
        )
    if after.get("resourceVersion") not in (None, "", before["resourceVersion"]):
        raise conflict(resource, name)
    after["name"] = name


def check_has_version(resource: ApiResource, new: RawObject) -> None:
    """Raise Invalid when a replacement does not say which version it replaces."""
    metadata = new.get("metadata") or {}
    if not metadata.get("resourceVersion"):
        name, causes = metadata.get("name", ""), Causes()
        causes.invalid("metadata.resourceVersion", 0, "must be specified for an update")
        causes.raise_for(resource, name)


def confine(resource: ApiResource, old: RawObject, new: RawObject, *, subresource: str) -> RawObject:
    """Return the new tree with everything that this way of writing does not own put back as it was."""
    keep_server_owned(old, new)
    match subresource:
        case "":
            result = _keep(new, old, ("status",)) if resource.has_status else new
            if resource.key == ("", "namespaces"):
                result["spec"] = old.get("spec", {})
        case "finalize":
            result = {**old, "spec": new.get("spec", {})}
        case _:
            result = _keep({**old}, new, (subresource,))
            if not resource.is_custom:
                result["metadata"] = new["metadata"]
    if _desired_state_changed(resource, old, result):
        result["metadata"] = result["metadata"] | {"generation": old["metadata"].get("generation", 0) + 1}
    return result


def differs(old: RawObject, new: RawObject, *, besides: tuple[str, ...]) -> bool:
    """Return whether two versions of an object differ in anything but identity and some more fields."""
    ignored = (*_IDENTITY, *besides)
    return {key: value for key, value in old.items() if key not in ignored} != {
        key: value for key, value in new.items() if key not in ignored
    }


def _keep(into: RawObject, source: RawObject, fields: tuple[str, ...]) -> RawObject:
    for field in fields:
        if field in source:
            into[field] = source[field]
        else:
            into.pop(field, None)
    return into


def _desired_state_changed(resource: ApiResource, old: RawObject, new: RawObject) -> bool:
    if not resource.counts_generation:
        return False
    return differs(old, new, besides=("status",) if resource.has_status else ())
