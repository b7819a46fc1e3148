"""`karpenter convert`: Provisioners and AWSNodeTemplates as NodePools and EC2NodeClasses."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Final, Literal

import yaml
from cyclopts import Parameter

from karpenter.app.errors import BadInputError
from karpenter.app.manifests.problems import InputError
from karpenter.app.manifests.sources import Document, read_documents
from karpenter.model import labels
from karpenter.model.convert import Conversion, Note, Profile
from karpenter.model.convert import convert as converted

CONVERTED, NOT_ALL_CONVERTED = 0, 3

_WORKLOAD_NOTES: Final = {
    labels.PROVISIONER: f"nodes carry {labels.NODEPOOL} from now on: select by that",
    labels.DO_NOT_EVICT: f"is {labels.DO_NOT_DISRUPT} in today's API; PyKarpenter reads both",
    labels.INSTANCE_PODS: "no machine has this label any more",
}
"""Keys in other manifests that mean something else, or nothing, after the change."""


def convert(
    *,
    file: Annotated[
        tuple[str, ...], Parameter(name=["--file", "-f"], required=True, negative=(), allow_leading_hyphen=True)
    ],
    output: Annotated[Literal["yaml", "json"], Parameter(name=["--output", "-o"])] = "yaml",
    role: str = "",
    instance_profile: str = "",
    adopt: bool = True,
) -> int:
    """Print Provisioners and AWSNodeTemplates as NodePools and EC2NodeClasses, and on standard error what changes.

    Exit status: 0 when everything was converted, 3 when something was not, 2 when the input is wrong.

    Parameters
    ----------
    file
        Manifests or kubectl dumps: a file, a folder, or `-` for standard input. May be given several times.
    output
        How to print the manifests.
    role
        IAM role of nodes whose AWSNodeTemplate names no instance profile.
    instance_profile
        The same as an instance profile.
    adopt
        Let each NodePool take over the nodes of its Provisioner, so that nothing has to move.
    """
    if role and instance_profile:
        raise BadInputError("--role: --instance-profile is given as well, an EC2NodeClass has one of them")
    documents, unreadable = read_documents(file, stdin=sys.stdin.buffer)
    if unreadable:
        raise InputError(unreadable)
    result = converted(
        [document.raw for document in documents if _is(document, labels.GROUP, "Provisioner")],
        [document.raw for document in documents if _is(document, labels.AWS_GROUP, "AWSNodeTemplate")],
        profile=Profile(role, instance_profile),
        adopts=adopt,
    )
    notes = (*result.notes, *_about_others(documents))
    print(*notes, sep="\n", end="\n" if notes else "", file=sys.stderr)
    _print(result, output)
    return CONVERTED if result.is_whole else NOT_ALL_CONVERTED


def _is(document: Document, group: str, kind: str) -> bool:
    return (document.group, document.kind) == (group, kind)


def _print(result: Conversion, output: Literal["yaml", "json"]) -> None:
    if output == "json":
        print(json.dumps({"apiVersion": "v1", "kind": "List", "items": result.manifests}, indent=2))
    elif result.manifests:
        print(yaml.dump_all(result.manifests, Dumper=yaml.SafeDumper, sort_keys=False, allow_unicode=True), end="")


def _about_others(documents: Iterable[Document]) -> list[Note]:
    """Look for old keys in everything else: workloads, PriorityClasses, nodes."""
    ours = (labels.GROUP, labels.AWS_GROUP)
    others = [document for document in documents if document.group not in ours]
    return [
        Note("changes", document.subject, path, f"{key}: {_WORKLOAD_NOTES[key]}")
        for document in others
        for path, key in sorted(set(_old_keys(document.raw, "")))
    ]


def _old_keys(value: object, path: str) -> Iterator[tuple[str, str]]:
    """Yield where old keys are used, as a key of a mapping or as the `key` of an expression."""
    if isinstance(value, Mapping):
        entries: Mapping[Any, Any] = value
        for name, inner in entries.items():
            if name in _WORKLOAD_NOTES:
                yield path, name
            elif name in {"key", "topologyKey"} and inner in _WORKLOAD_NOTES:
                yield path, inner
            yield from _old_keys(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _old_keys(inner, f"{path}[{index}]")
