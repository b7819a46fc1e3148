"""The requirements that a Provisioner gets when it does not speak of them (API-20)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from karpenter.model import labels

_ALWAYS: Final = (
    (labels.OS, "In", ("linux",)),
    (labels.ARCH, "In", ("amd64",)),
    (labels.CAPACITY_TYPE, "In", (labels.ON_DEMAND,)),
)
_ANY_TYPE: Final = (
    (labels.INSTANCE_CATEGORY, "In", ("c", "m", "r")),
    (labels.INSTANCE_GENERATION, "Gt", ("2",)),
)
_NAMES_TYPES: Final = frozenset(
    {
        labels.INSTANCE_TYPE,
        labels.INSTANCE_FAMILY,
        labels.INSTANCE_CATEGORY,
        labels.INSTANCE_GENERATION,
    }
)


def default_provisioner(raw: Mapping[str, object]) -> Mapping[str, object]:
    """Return the manifest as a server stores it: requirements completed, nothing else touched.

    Only `spec.requirements` is looked at, under modern spellings of its keys; labels do not count (quirk 20). Applying
    it twice changes nothing. A manifest too broken to complete comes back as it is, for validation to speak about.
    """
    spec = raw.get("spec")
    if not isinstance(spec, Mapping):
        return raw
    given = spec.get("requirements")
    listed = [] if given is None else given
    if not isinstance(listed, list) or not all(isinstance(entry, Mapping) for entry in listed):
        return raw
    keys = {labels.canonical(key) for entry in listed if isinstance(key := entry.get("key"), str)}
    wanted = _ALWAYS if keys & _NAMES_TYPES else (*_ALWAYS, *_ANY_TYPE)
    missing = [entry for entry in wanted if entry[0] not in keys]
    if not missing:
        return raw
    added = [{"key": key, "operator": operator, "values": list(values)} for key, operator, values in missing]
    return {**raw, "spec": {**spec, "requirements": [*listed, *added]}}
