"""How a patch is refused that puts a value where its field cannot hold it: each kind of patch has words of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from karpenter.model.units import ObjectKey
from karpenter.runtime.kube import BadRequest, KubeError, PatchType
from karpenter.runtime.kubememory.refusals import Causes, invalid
from karpenter.runtime.kubememory.resources import ApiResource
from karpenter.runtime.kubememory.schema.decode import WrongTypeError

_NO_KIND = ApiResource("", "v1", "", "")


class UntypedApplyError(KubeError):
    """An applied manifest does not fit its kind; real servers call that a failure of theirs, without a reason."""

    reason = ""


def untyped_apply(resource: ApiResource, key: ObjectKey, error: BadRequest) -> KubeError:
    """Return what server-side apply says of a value of a wrong type; other errors as they are."""
    cause = error.__cause__
    if not isinstance(cause, WrongTypeError) or not cause.expected:
        return error
    group_version = resource.api_version if resource.group else f"/{resource.version}"
    return UntypedApplyError(
        f"failed to create typed patch object ({key.namespace}/{key.name}; {group_version}, Kind={resource.kind}): "
        f".{cause.place}: expected {cause.expected}, got &value.valueUnstructured{{Value:{_go(cause.value)}}}"
    )


def untyped_patch(
    patch: Mapping[str, Any] | Sequence[Mapping[str, Any]], patch_type: PatchType, error: BadRequest
) -> KubeError:
    """Return what a strategic merge says of a value of a wrong type; other errors as they are."""
    cause = error.__cause__
    if patch_type != "strategic" or not isinstance(cause, WrongTypeError):
        return error
    causes = Causes()
    causes.invalid("patch", _go_map(patch), f"unrecognized type: {cause.go_type}")
    return invalid(_NO_KIND, "", causes.found)


def _go(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else _go_map(value)


def _go_map(value: object) -> str:
    match value:
        case Mapping():
            return "map[" + " ".join(f"{key}:{_go_map(one)}" for key, one in sorted(value.items())) + "]"
        case list() | tuple():
            return "[" + " ".join(map(_go_map, value)) + "]"
        case bool():
            return str(value).lower()
        case None:
            return "<nil>"
    return str(value)
