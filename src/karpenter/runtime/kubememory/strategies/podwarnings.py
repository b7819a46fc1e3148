"""What a pod's spec may say and had better not: told to the writer, and kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karpenter.runtime.kubememory.records import Json

_OLD_LABELS: Final = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
}


def pod_warnings(spec: Json, path: str) -> Iterator[str]:
    """Yield what is out of date or doubtful in a pod's spec, in a Pod or in a workload's template."""
    for key in spec.get("nodeSelector") or {}:
        if key in _OLD_LABELS:
            yield f"{path}.nodeSelector[{key}]: {_OLD_LABELS[key]}"
    yield from _affinity_warnings(spec, f"{path}.affinity.nodeAffinity")
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        if (key := constraint.get("topologyKey")) in _OLD_LABELS:
            yield f"{path}.topologySpreadConstraints[{index}].topologyKey: {key} is {_OLD_LABELS[key]}"
    for index, volume in enumerate(spec.get("volumes") or ()):
        if "gitRepo" in volume:
            yield f"{path}.volumes[{index}].gitRepo: deprecated in v1.11, and disabled by default in v1.33+"
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(kind) or ()):
            yield from _container_warnings(container, f"{path}.{kind}[{index}]")


def _affinity_warnings(spec: Json, path: str) -> Iterator[str]:
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    place = f"{path}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
    terms = [(f"{place}[{index}]", term) for index, term in enumerate(required.get("nodeSelectorTerms") or ())]
    place = f"{path}.preferredDuringSchedulingIgnoredDuringExecution"
    for index, weighted in enumerate(affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()):
        terms.append((f"{place}[{index}].preference", weighted.get("preference") or {}))
    for where, term in terms:
        for index, expression in enumerate(term.get("matchExpressions") or ()):
            if (key := expression.get("key")) in _OLD_LABELS:
                yield f"{where}.matchExpressions[{index}].key: {key} is {_OLD_LABELS[key]}"


def _container_warnings(container: Json, path: str) -> Iterator[str]:
    resources = container.get("resources") or {}
    for kind in ("limits", "requests"):
        memory = str((resources.get(kind) or {}).get("memory", ""))
        if memory.endswith("m"):
            yield f'{path}.resources.{kind}[memory]: fractional byte value "{memory}" is invalid, must be an integer'
    names: set[str] = set()
    for index, variable in enumerate(container.get("env") or ()):
        if (name := variable.get("name", "")) in names:
            told = f'hides previous definition of "{name}", which may be dropped when using apply'
            yield f"{path}.env[{index}]: {told}"
        names.add(name)
    ports: dict[tuple[object, ...], int] = {}
    for index, port in enumerate(container.get("ports") or ()):
        key = (port.get("containerPort"), port.get("protocol", "TCP"), port.get("hostPort"), port.get("hostIP"))
        if key in ports:
            yield f"{path}.ports[{index}]: duplicate port definition with {path}.ports[{ports[key]}]"
        ports.setdefault(key, index)
