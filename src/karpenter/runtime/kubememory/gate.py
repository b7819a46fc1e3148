"""The way in: a body becomes an object of its kind, is filled in, admitted, and judged by the rules that it touches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from karpenter.runtime.kube import BadRequest, RawObject
from karpenter.runtime.kubememory.admission import Admission, Operation
from karpenter.runtime.kubememory.changes import differs
from karpenter.runtime.kubememory.custom import CustomKinds
from karpenter.runtime.kubememory.metadata import check_metadata, check_new_finalizers
from karpenter.runtime.kubememory.refusals import Causes
from karpenter.runtime.kubememory.resources import ApiResource
from karpenter.runtime.kubememory.schema.builtin import builtin_schema, metadata_schema
from karpenter.runtime.kubememory.schema.decode import WrongTypeError, prune, read
from karpenter.runtime.kubememory.schema.shapes import Schema
from karpenter.runtime.kubememory.strategies import strategy_of

FieldValidation: TypeAlias = Literal["Ignore", "Warn", "Strict"]
"""What to do about unknown fields: drop them silently, with a warning, or refuse the write."""


class Gate:
    """What every object passes before it is stored, in the order of `read`, `fill`, `admit`."""

    def __init__(self, custom: CustomKinds, hooks: list[Admission]) -> None:
        self._custom = custom
        self.hooks = hooks

    def schema(self, resource: ApiResource) -> Schema | None:
        """Return the shape of a kind; None when nothing is known of it."""
        if custom := self._custom.find(resource):
            return custom.schema.shape
        return builtin_schema(resource.group, resource.kind)

    def read(
        self, resource: ApiResource, tree: RawObject, validation: FieldValidation, *, old: RawObject | None = None
    ) -> tuple[str, ...]:
        """Bring a tree into the form of its kind and return warnings. Raises BadRequest.

        Objects of Kubernetes' own kinds are decoded like by a Go program: a wrong type is a bad request. For custom
        kinds the definition's rules say so later, all at once; only metadata is decoded here.
        """
        schema = self.schema(resource)
        unknown = _decode(resource, tree, schema, old=old) if schema is not None else []
        told = tuple(f'unknown field "{path}"' for path in unknown)
        if told and validation == "Strict":
            raise _unreadable(resource, "strict decoding error: " + ", ".join(told))
        return told if validation == "Warn" else ()

    def fill(self, resource: ApiResource, tree: RawObject, *, old: RawObject | None = None) -> None:
        """Put in what a manifest may leave out, where anything changed."""
        if old is not None and not _touches_rules(resource, old, tree):
            return
        if custom := self._custom.find(resource):
            custom.schema.fill(tree)
        else:
            strategy_of(resource).default(tree)

    def admit(
        self,
        operation: Operation,
        resource: ApiResource,
        tree: RawObject,
        *,
        old: RawObject | None = None,
        runs_hooks: bool = True,
    ) -> tuple[RawObject, tuple[str, ...]]:
        """Return the object as the hooks leave it, and their warnings. Raises Invalid with all that is wrong."""
        warnings: list[str] = []
        for hook in self.hooks if runs_hooks else ():
            tree, said = hook(operation, resource, tree, old)
            warnings.extend(said)
        self._judge(resource, tree, old=old)
        if old is None or _touches_rules(resource, old, tree):
            warnings.extend(strategy_of(resource).warn(tree))
        return tree, tuple(warnings)

    def _judge(self, resource: ApiResource, tree: RawObject, *, old: RawObject | None) -> None:
        causes, strategy = Causes(), strategy_of(resource)
        if old is None or old["metadata"] != tree["metadata"]:
            check_metadata(resource, tree, causes)
            check_new_finalizers(old, tree, causes)
        if old is None or _touches_rules(resource, old, tree):
            if custom := self._custom.find(resource):
                custom.check(tree, causes, old=old)
            strategy.check(tree, causes)
            if old is not None:
                strategy.check_update(old, tree, causes)
        if old is not None:
            strategy.check_status(old, tree, causes)
        causes.raise_for(resource, tree["metadata"].get("name", ""))


def _touches_rules(resource: ApiResource, old: RawObject, new: RawObject) -> bool:
    """Return whether a write changes anything that rules are about: the status of Kubernetes' own kinds has none."""
    return differs(old, new, besides=() if resource.is_custom else ("status",))


def _decode(resource: ApiResource, tree: RawObject, schema: Schema, *, old: RawObject | None) -> Sequence[str]:
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
    return unknown


def _unreadable(resource: ApiResource, why: str) -> BadRequest:
    return BadRequest(f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: {why}')
