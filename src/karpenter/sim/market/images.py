"""Which image a node class's instances boot from. Source: spec v1alpha5 §3.8, AWS-61; spec v1 A-6 … A-9."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from karpenter.model.aws.catalog import Accelerator, Image, InstanceTypeRecord
from karpenter.model.aws.nodeclass import AwsNodeClass, SelectorTerm
from karpenter.sim.market.account import has_tags, is_discoverable

_DEFAULT_OWNERS: Final = frozenset({"self", "amazon"})
_ALIAS_FAMILIES: Final = {"al2": "AL2", "al2023": "AL2023", "bottlerocket": "Bottlerocket"}
_STAND_IN: Final = {"Custom": "AL2023"}
"""Whose images a family without any of its own finds by discovery tag."""
_DRIVERS: Final[Mapping[str, Mapping[Accelerator, str]]] = {
    "AL2": {"nvidia": "gpu", "neuron": "gpu"},
    "AL2023": {"nvidia": "nvidia", "neuron": "neuron"},
    "Bottlerocket": {"nvidia": "nvidia"},
}
"""Which variant of a family brings the drivers; the standard one where nothing is said."""


@dataclass(frozen=True, slots=True)
class ImageChoice:
    """The images a node class selects, newest first."""

    images: tuple[Image, ...]
    by_variant: bool
    """Whether types with devices get the variant with their drivers: so for recommended images, but not for images
    that were selected one by one (AWS-61)."""

    def for_type(self, record: InstanceTypeRecord) -> Image | None:
        """Return the image that instances of a type boot from; None when none fits (such types are dropped)."""
        fitting = [image for image in self.images if image.arch == record.arch]
        if not self.by_variant:
            return fitting[0] if fitting else None
        for variant in (self._variant(fitting, record.accelerator), "standard"):
            for image in fitting:
                if image.variant == variant:
                    return image
        return None

    def _variant(self, fitting: Sequence[Image], accelerator: Accelerator) -> str:
        family = fitting[0].family if fitting else ""
        return _DRIVERS.get(family, {}).get(accelerator, "standard")


def choose_images(images: Iterable[Image], node_class: AwsNodeClass, *, generation: int) -> ImageChoice:
    """Return the images a node class selects among those that are out: generations up to the given one."""
    out = [image for image in images if image.generation <= generation]
    terms = node_class.ami_terms
    if not terms:
        chosen = [image for image in out if image.family == node_class.ami_family]
    else:
        chosen = [
            image for image in out if any(_selects(term, image, node_class=node_class, out=out) for term in terms)
        ]
    chosen.sort(key=lambda image: image.id)
    chosen.sort(key=lambda image: image.created, reverse=True)
    return ImageChoice(tuple(chosen), by_variant=not terms or any(term.alias for term in terms))


def _selects(term: SelectorTerm, image: Image, *, node_class: AwsNodeClass, out: Sequence[Image]) -> bool:
    if term.id:
        return term.id == image.id
    if term.alias:
        return _is_alias_of(term.alias, image)
    if term.ssm_parameter:
        return term.ssm_parameter == image.ssm_pinned or (
            term.ssm_parameter == image.ssm and image.generation == max(_generations(image, out))
        )
    if term.name and not fnmatchcase(image.name, term.name):
        return False
    if not has_tags(term.tags, {"Name": image.name}):
        return False
    if any(is_discoverable(key) for key in term.tags):
        family = _STAND_IN.get(node_class.ami_family, node_class.ami_family)
        return image.family == family and term.owner in {"", image.owner, image.owner_alias, "self"}
    owners = {term.owner} if term.owner else _DEFAULT_OWNERS
    return bool(owners & {image.owner, image.owner_alias})


def _is_alias_of(alias: str, image: Image) -> bool:
    family, _, version = alias.partition("@")
    return _ALIAS_FAMILIES.get(family) == image.family and version in {"latest", image.release}


def _generations(image: Image, out: Sequence[Image]) -> list[int]:
    return [other.generation for other in out if other.ssm == image.ssm]
