"""Images: what a node class's selectors and aliases find. Source: spec v1 A-6 … A-9; spec v1alpha5 AWS-61, AWS-65."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from cachetools import TTLCache

from karpenter.aws.errors import error_code
from karpenter.aws.network import Filters, tag_filters, terms_key
from karpenter.aws.resolved import Ami
from karpenter.aws.session import AwsSession, collect
from karpenter.cloud.errors import CloudError
from karpenter.model import labels
from karpenter.model.aws.aliases import ImageParameter, alias_of, arch_of, image_parameters
from karpenter.model.aws.nodeclass import AmiFamily, AwsNodeClass, SelectorTerm
from karpenter.model.requirements import Requirement, Requirements
from karpenter.model.units import from_rfc3339
from karpenter.runtime import logs
from karpenter.runtime.clock import Clock

log = logs.get("aws.amis")

_REMEMBERED_S: Final = 60.0
_CUSTOM_PARAMETER_S: Final = 300.0
_PINNED_PARAMETER_S: Final = 86_400.0
_MOST_REMEMBERED: Final = 500
_OWNERS: Final = ("self", "amazon")
"""Whose images a name may mean unless the selector says whose: anybody may name an image as they like."""


class Amis:
    """Finds images. Answers are remembered for a minute, parameters of pinned releases for a day (A-9, AWS-65)."""

    def __init__(self, aws: AwsSession, clock: Clock, *, version: Callable[[], str]) -> None:
        """`version` returns the Kubernetes version that images must be made for, `1.32`."""
        self._aws = aws
        self._clock = clock
        self._version = version
        self._found: TTLCache[object, tuple[Ami, ...]] = TTLCache(_MOST_REMEMBERED, _REMEMBERED_S, clock.now)
        self._parameters: dict[float, TTLCache[str, str]] = {
            seconds: TTLCache(_MOST_REMEMBERED, seconds, clock.now)
            for seconds in (_REMEMBERED_S, _CUSTOM_PARAMETER_S, _PINNED_PARAMETER_S)
        }

    async def find(self, node_class: AwsNodeClass) -> tuple[Ami, ...]:
        """Return the images of a class in the order in which they are tried; empty when there is none.

        Of those that serve the same types only the newest is there (A-8). Raises CloudError.
        """
        alias = alias_of(node_class)
        key = (alias, self._version()) if alias else terms_key(node_class.ami_terms)
        known = self._found.get(key)
        if known is None:
            found = await self._of_alias(*alias) if alias else await self._selected(node_class.ami_terms)
            known = self._found[key] = newest(found)
        return known

    async def _of_alias(self, family: AmiFamily, release: str) -> list[Ami]:
        wanted = image_parameters(family, release, version=self._version())
        ids = await asyncio.gather(*(self._parameter(one.path, _lasts(one)) for one in wanted))
        images = {raw["ImageId"]: raw for raw in await self._images([_any_of(filter(None, ids))] if any(ids) else [])}
        pairs = ((images.get(identity), one.serves) for identity, one in zip(ids, wanted, strict=True))
        return [self._ami(raw, serves) for raw, serves in pairs if raw is not None and arch_of(raw["Architecture"])]

    async def _selected(self, terms: Sequence[SelectorTerm]) -> list[Ami]:
        paths = [term.ssm_parameter for term in terms if term.ssm_parameter]
        held = await asyncio.gather(*(self._parameter(path, _CUSTOM_PARAMETER_S) for path in paths))
        ids = [*(term.id for term in terms if term.id), *filter(None, held)]
        asked = [_any_of(ids)] if ids else []
        asked += [_request(term) for term in terms if not term.id and not term.ssm_parameter]
        images = {raw["ImageId"]: raw for raw in await self._images(asked) if arch_of(raw["Architecture"])}
        return [self._ami(raw, _tagged(raw)) for raw in images.values()]

    async def _images(self, asked: Iterable[Mapping[str, Any]]) -> list[Any]:
        operation = ("ec2", "DescribeImages")
        answers = await asyncio.gather(*(collect(self._aws, operation, "Images", **request) for request in asked))
        return [raw for answer in answers for raw in answer]

    async def _parameter(self, path: str, lasts_s: float) -> str | None:
        """Return the image id that a parameter holds; None when it is not there or holds something else (A-6)."""
        known = self._parameters[lasts_s]
        if path not in known:
            known[path] = await self._read_parameter(path)
        value = known[path]
        return value if re.fullmatch(r"ami-[0-9a-z]+", value) else None

    async def _read_parameter(self, path: str) -> str:
        try:
            answer = await self._aws.call("ssm", "GetParameter", Name=path)
        except CloudError as error:
            if error_code(error) not in {"ParameterNotFound", "ParameterVersionNotFound", "ValidationException"}:
                raise
            log.debug("skipped a parameter of an image", parameter=path, error=str(error))
            return ""
        return str(answer["Parameter"]["Value"])

    def _ami(self, raw: Mapping[str, Any], serves: Requirements) -> Ami:
        arch = Requirement.of(labels.ARCH, "In", [arch_of(raw["Architecture"]) or ""])
        ends = raw.get("DeprecationTime")
        return Ami(
            id=raw["ImageId"],
            name=raw.get("Name", ""),
            requirements=serves.intersect(Requirements((arch,))),
            created=raw.get("CreationDate", ""),
            is_deprecated=bool(ends) and from_rfc3339(str(ends)) <= self._clock.now(),
        )


def _lasts(one: ImageParameter) -> float:
    return _REMEMBERED_S if one.moves else _PINNED_PARAMETER_S


def _any_of(ids: Iterable[str]) -> dict[str, Any]:
    return _describe([{"Name": "image-id", "Values": sorted(set(ids))}])


def _request(term: SelectorTerm) -> dict[str, Any]:
    """Return the call that finds what a term selects (A-6): tags are ours alone, but a name may be anybody's."""
    by_name: Filters = [{"Name": "name", "Values": [term.name]}] if term.name else []
    owners = (term.owner,) if term.owner else _OWNERS if term.name else ()
    request = _describe([*by_name, *tag_filters(term.tags)])
    return request | {"Owners": list(owners)} if owners else request


def _describe(filters: Filters) -> dict[str, Any]:
    available = {"Name": "state", "Values": ["available"]}
    return {"Filters": [*filters, available], "IncludeDeprecated": True, "MaxResults": 1000}


def _tagged(raw: Mapping[str, Any]) -> Requirements:
    """Return what an image's tags say about the types it serves: those that are well-known labels (AWS-61)."""
    tags = {tag["Key"]: tag["Value"] for tag in raw.get("Tags", ())}
    return Requirements(Requirement.of(key, "In", [tags[key]]) for key in sorted(labels.WELL_KNOWN & tags.keys()))


def newest(found: Iterable[Ami]) -> tuple[Ami, ...]:
    """Return the newest image of each set of requirements, a deprecated one only where there is no other (A-8).

    Newest first, then by id.
    """
    chosen: dict[frozenset[Requirement], Ami] = {}
    for ami in sorted(sorted(found, key=lambda ami: ami.id), key=_age, reverse=True):
        chosen.setdefault(frozenset(ami.requirements.values()), ami)
    return tuple(sorted(sorted(chosen.values(), key=lambda ami: ami.id), key=lambda ami: ami.created, reverse=True))


def _age(ami: Ami) -> tuple[bool, str]:
    return not ami.is_deprecated, ami.created
