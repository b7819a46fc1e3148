"""From a body to an object of its kind: what is unknown is dropped and told, what is of a wrong type refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from karpenter.runtime.kube import BadRequest, RawObject
from karpenter.runtime.kubememory.resources import ApiResource
from karpenter.runtime.kubememory.schema.builtin import metadata_schema
from karpenter.runtime.kubememory.schema.decode import WrongTypeError, prune, read
from karpenter.runtime.kubememory.schema.shapes import Schema

FieldValidation: TypeAlias = Literal["Ignore", "Warn", "Strict"]
"""What to do about unknown fields: drop them silently, with a warning, or refuse the write."""


def take_in(
    resource: ApiResource,
    tree: RawObject,
    schema: Schema | None,
    *,
    validation: FieldValidation,
    old: RawObject | None = None,
) -> Sequence[str]:
    """Bring a tree into the form of its kind and return warnings. Raises BadRequest.

    Objects of Kubernetes' own kinds are decoded like by a Go program: a wrong type is a bad request. For custom kinds
    the definition's rules say so later, all at once; only metadata is decoded here.
    """
    if schema is None:
        return ()
    # What stayed as it was came in by this door already.
    known = {name for name, value in tree.items() if old is not None and name in old and value == old[name]}
    new = {name: value for name, value in tree.items() if name not in known}
    try:
        if resource.is_custom:
            unknown = prune(new, schema)
            if "metadata" in new:
                read(new["metadata"], metadata_schema(), "metadata")
        else:
            unknown = read(new, schema)
    except WrongTypeError as error:
        raise _unreadable(resource, str(error)) from error
    for name in tuple(tree):
        if name in new:
            tree[name] = new[name]
        elif name not in known:
            del tree[name]
    told = [f'unknown field "{path}"' for path in unknown]
    if told and validation == "Strict":
        raise _unreadable(resource, "strict decoding error: " + ", ".join(told))
    return told if validation == "Warn" else ()


def _unreadable(resource: ApiResource, why: str) -> BadRequest:
    return BadRequest(f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: {why}')
