"""The rules of a pod's spec, in a Pod or in a workload's template: those that users run into."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from karpenter.model.quantity import parse_quantity
from karpenter.runtime.kubememory.metadata import check_label, check_qualified_name
from karpenter.runtime.kubememory.records import Json
from karpenter.runtime.kubememory.refusals import Causes

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_NAME_RULE: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_NODE_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_SPREAD_ACTIONS: Final = ("DoNotSchedule", "ScheduleAnyway")
_PROTOCOLS: Final = ("TCP", "UDP", "SCTP")


def check_pod_spec(
    spec: Json, path: str, *, causes: Causes, restart_policies: tuple[str, ...] = _RESTART_POLICIES
) -> None:
    """Note what is wrong with a pod's spec."""
    volumes = [volume.get("name", "") for volume in spec.get("volumes") or ()]
    _check_names(volumes, f"{path}.volumes", causes)
    if not spec.get("containers"):
        causes.required(f"{path}.containers")
    names: list[str] = []
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(kind) or ()):
            place = f"{path}.{kind}[{index}]"
            _check_container(container, place, volumes=volumes, causes=causes)
            if container.get("name") in names:
                causes.duplicate(f"{place}.name", container["name"])
            names.append(container.get("name", ""))
    if spec.get("restartPolicy") not in restart_policies:
        causes.unsupported(f"{path}.restartPolicy", spec.get("restartPolicy"), restart_policies)
    if spec.get("dnsPolicy") not in _DNS_POLICIES:
        causes.unsupported(f"{path}.dnsPolicy", spec.get("dnsPolicy"), _DNS_POLICIES)
    for key, value in (spec.get("nodeSelector") or {}).items():
        check_label(f"{path}.nodeSelector", key, value, causes=causes)
    for index, toleration in enumerate(spec.get("tolerations") or ()):
        _check_toleration(toleration, f"{path}.tolerations[{index}]", causes)
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        _check_spread(constraint, f"{path}.topologySpreadConstraints[{index}]", causes)
    _check_affinity(spec.get("affinity") or {}, f"{path}.affinity", causes)


def _check_names(names: Iterable[str], path: str, causes: Causes) -> None:
    seen: set[str] = set()
    for index, name in enumerate(names):
        _check_name(name, f"{path}[{index}].name", causes)
        if name in seen:
            causes.duplicate(f"{path}[{index}].name", name)
        seen.add(name)


def _check_name(name: str, path: str, causes: Causes) -> None:
    if not name:
        causes.required(path)
    elif not _NAME.fullmatch(name):
        causes.invalid(path, name, _NAME_RULE)


def _check_container(container: Json, path: str, *, volumes: list[str], causes: Causes) -> None:
    _check_name(container.get("name", ""), f"{path}.name", causes)
    if not container.get("image"):
        causes.required(f"{path}.image")
    for index, port in enumerate(container.get("ports") or ()):
        _check_port(port, f"{path}.ports[{index}]", causes)
    for index, variable in enumerate(container.get("env") or ()):
        if not variable.get("name"):
            causes.required(f"{path}.env[{index}].name")
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        if mount.get("name") not in volumes:
            causes.not_found(f"{path}.volumeMounts[{index}].name", mount.get("name", ""))
        if not mount.get("mountPath"):
            causes.required(f"{path}.volumeMounts[{index}].mountPath")
    if container.get("imagePullPolicy") not in _PULL_POLICIES:
        causes.unsupported(f"{path}.imagePullPolicy", container.get("imagePullPolicy"), _PULL_POLICIES)
    check_resources(container.get("resources") or {}, f"{path}.resources", causes)


def _check_port(port: Json, path: str, causes: Causes) -> None:
    number = port.get("containerPort")
    if not number:
        causes.required(f"{path}.containerPort")
    elif not 0 < number < 65536:
        causes.invalid(f"{path}.containerPort", number, "must be between 1 and 65535, inclusive")
    if port.get("protocol") not in _PROTOCOLS:
        causes.unsupported(f"{path}.protocol", port.get("protocol"), _PROTOCOLS)


def check_resources(resources: Json, path: str, causes: Causes) -> None:
    """Note requests and limits that are negative or contradict each other."""
    limits = resources.get("limits") or {}
    for kind in ("limits", "requests"):
        for name, value in (resources.get(kind) or {}).items():
            if parse_quantity(value) < 0:
                causes.invalid(f"{path}.{kind}[{name}]", value, "must be greater than or equal to 0")
            elif kind == "requests" and name in limits and parse_quantity(value) > parse_quantity(limits[name]):
                causes.invalid(
                    f"{path}.requests", value, f"must be less than or equal to {name} limit of {limits[name]}"
                )


def _check_toleration(toleration: Json, path: str, causes: Causes) -> None:
    key, operator = toleration.get("key", ""), toleration.get("operator", "Equal")
    if key:
        check_qualified_name(f"{path}.key", key, causes)
    elif operator != "Exists":
        means = 'which means "match all values and all keys"'
        causes.invalid(f"{path}.operator", operator, f"operator must be Exists when `key` is empty, {means}")
    if operator not in ("Equal", "Exists", ""):
        causes.unsupported(f"{path}.operator", operator, ("Equal", "Exists"))
    if operator == "Exists" and toleration.get("value"):
        causes.invalid(f"{path}.operator", toleration["value"], "value must be empty when `operator` is 'Exists'")
    effect = toleration.get("effect", "")
    if effect and effect not in _EFFECTS:
        causes.unsupported(f"{path}.effect", effect, _EFFECTS)
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        causes.invalid(f"{path}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")


def _check_spread(constraint: Json, path: str, causes: Causes) -> None:
    if constraint.get("maxSkew", 0) <= 0:
        causes.invalid(f"{path}.maxSkew", constraint.get("maxSkew", 0), "must be greater than zero")
    if not constraint.get("topologyKey"):
        causes.required(f"{path}.topologyKey", "can not be empty")
    if constraint.get("whenUnsatisfiable") not in _SPREAD_ACTIONS:
        causes.unsupported(f"{path}.whenUnsatisfiable", constraint.get("whenUnsatisfiable", ""), _SPREAD_ACTIONS)


def _check_affinity(affinity: Json, path: str, causes: Causes) -> None:
    node = affinity.get("nodeAffinity") or {}
    required = node.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is not None:
        place = f"{path}.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
        if not required.get("nodeSelectorTerms"):
            causes.required(place, "must have at least one node selector term")
        for index, term in enumerate(required.get("nodeSelectorTerms") or ()):
            _check_node_term(term, f"{place}[{index}]", causes)
    for index, preferred in enumerate(node.get("preferredDuringSchedulingIgnoredDuringExecution") or ()):
        place = f"{path}.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[{index}]"
        _check_weight(preferred, place, causes)
        _check_node_term(preferred.get("preference") or {}, f"{place}.preference", causes)
    for kind in ("podAffinity", "podAntiAffinity"):
        _check_pod_affinity(affinity.get(kind) or {}, f"{path}.{kind}", causes)


def _check_pod_affinity(affinity: Json, path: str, causes: Causes) -> None:
    terms: list[tuple[str, Any]] = [
        (f"{path}.requiredDuringSchedulingIgnoredDuringExecution[{index}]", term)
        for index, term in enumerate(affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ())
    ]
    for index, weighted in enumerate(affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()):
        place = f"{path}.preferredDuringSchedulingIgnoredDuringExecution[{index}]"
        _check_weight(weighted, place, causes)
        terms.append((f"{place}.podAffinityTerm", weighted.get("podAffinityTerm") or {}))
    for place, term in terms:
        if not term.get("topologyKey"):
            causes.required(f"{place}.topologyKey", "can not be empty")


def _check_weight(preferred: Json, path: str, causes: Causes) -> None:
    if not 1 <= preferred.get("weight", 0) <= 100:
        causes.invalid(f"{path}.weight", preferred.get("weight", 0), "must be in the range 1-100")


def _check_node_term(term: Json, path: str, causes: Causes) -> None:
    for index, expression in enumerate(term.get("matchExpressions") or ()):
        place, operator = f"{path}.matchExpressions[{index}]", expression.get("operator")
        check_qualified_name(f"{place}.key", expression.get("key", ""), causes)
        values = expression.get("values") or ()
        if operator not in _NODE_OPERATORS:
            causes.invalid(f"{place}.operator", operator, "not a valid selector operator")
        elif operator in ("In", "NotIn") and not values:
            causes.required(f"{place}.values", "must be specified when `operator` is 'In' or 'NotIn'")
        elif operator in ("Exists", "DoesNotExist") and values:
            causes.forbidden(f"{place}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
        elif operator in ("Gt", "Lt") and len(values) != 1:
            causes.required(f"{place}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")
