"""The kinds of patch that change one object, each a function from tree to tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import json_merge_patch
import jsonpatch
import msgspec
from jsonpointer import JsonPointerException

from karpenter.runtime.kube import BadRequest, Invalid, RawObject, UnsupportedMediaType
from karpenter.runtime.kubememory.records import Json
from karpenter.runtime.kubememory.schema.decode import json_type
from karpenter.runtime.kubememory.schema.shapes import Schema
from karpenter.runtime.kubememory.strategic import merge_strategically

_REJECTED: Final = "the server rejected our request due to an error in our request"

Patch = Mapping[str, Any] | Sequence[Mapping[str, Any]]


def apply_patch(
    tree: RawObject, patch: Patch, patch_type: Literal["json", "merge", "strategic"], *, schema: Schema | None
) -> RawObject:
    """Return the tree after a patch; the tree itself may be used up.

    `schema` is what a strategic merge goes by; None for kinds that have no such thing, as custom ones.
    Raises BadRequest, Invalid, UnsupportedMediaType.
    """
    own: Json = msgspec.json.decode(msgspec.json.encode(patch))
    if patch_type == "json":
        return _apply_json(tree, own)
    if not isinstance(own, dict):
        raise BadRequest(f"json: cannot unmarshal {json_type(own)} into Go value of type map[string]interface {{}}")
    if patch_type == "merge":
        merged: RawObject = json_merge_patch.merge(tree, own)
        return merged
    if schema is None:
        raise UnsupportedMediaType(
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
        )
    return merge_strategically(tree, own, schema)


def _apply_json(tree: RawObject, patch: object) -> RawObject:
    if not isinstance(patch, list):
        found = json_type(patch)
        raise BadRequest(
            f"error decoding patch: json: cannot unmarshal {found} into Go value of type []handlers.jsonPatchOp"
        )
    try:
        result = jsonpatch.JsonPatch(patch).apply(tree)
    except (jsonpatch.InvalidJsonPatch, jsonpatch.JsonPatchException, JsonPointerException) as error:
        raise Invalid(_REJECTED) from error
    if not isinstance(result, dict):
        raise Invalid(f"{_REJECTED}: the patch leaves no object")
    return result
