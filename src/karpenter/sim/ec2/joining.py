"""What a machine makes of its user data when it boots: which cluster it joins, and as what.

Read as the images do: the script of AL2 and Ubuntu, the NodeConfig of AL2023, the settings of Bottlerocket.
"""

from __future__ import annotations

import email
import shlex
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from karpenter.model.nodepool import KubeletConfiguration
from karpenter.model.resources import parse_resources
from karpenter.model.taints import Taint

_SCRIPT: Final = "/etc/eks/bootstrap.sh"
_NODE_CONFIG: Final = "node.eks.aws"


@dataclass(frozen=True, slots=True)
class Join:
    """How a kubelet was told to start."""

    cluster: str
    endpoint: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    kubelet: KubeletConfiguration = field(default_factory=KubeletConfiguration)
    local_disks_are_storage: bool = False


def read_join(text: str) -> Join | None:
    """Return what user data says of the cluster to join; None when it says nothing that an image understands."""
    try:
        return _read(text)
    except (KeyError, TypeError, ValueError, yaml.YAMLError):
        return None  # a real machine stops in the middle of its boot, too


def _read(text: str) -> Join | None:
    if "[settings" in text and _SCRIPT not in text:
        return _from_settings(tomllib.loads(text)["settings"])
    configs: dict[str, Any] = {}
    join = None
    for part in _parts(text):
        if _NODE_CONFIG in part and not part.startswith("#!"):
            configs = _merged(configs, yaml.safe_load(part)["spec"])
        elif _SCRIPT in part:
            join = _from_script(part)
    return _from_config(configs) if configs else join


def _parts(text: str) -> Iterator[str]:
    if not text.lstrip().startswith(("MIME-Version:", "Content-Type:")):
        yield text
        return
    for part in email.message_from_string(text).walk():
        if not part.is_multipart():
            payload = part.get_payload()
            yield payload if isinstance(payload, str) else ""


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        is_table = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merged(merged[key], value) if is_table else value
    return merged


# --- AL2, Ubuntu ------------------------------------------------------------------------------------------------------


def _from_script(script: str) -> Join:
    line = next(line for line in script.replace("\\\n", " ").splitlines() if _SCRIPT in line)
    _, name, *words = shlex.split(line[line.index(_SCRIPT) :])
    options = dict(zip(words[::2], words[1::2], strict=False))
    flags = dict(_flags(shlex.split(options.get("--kubelet-extra-args", ""))))
    kubelet = KubeletConfiguration(
        max_pods=_number(flags.get("--max-pods")),
        pods_per_core=_number(flags.get("--pods-per-core")),
        system_reserved=parse_resources(_pairs(flags.get("--system-reserved"), "=")),
        kube_reserved=parse_resources(_pairs(flags.get("--kube-reserved"), "=")),
        eviction_hard=_pairs(flags.get("--eviction-hard"), "<"),
    )
    return Join(
        cluster=name,
        endpoint=options["--apiserver-endpoint"],
        labels=_pairs(flags.get("--node-labels"), "="),
        taints=tuple(_taint(*text.rpartition(":")[::2]) for text in _listed(flags.get("--register-with-taints"))),
        kubelet=kubelet,
        local_disks_are_storage=options.get("--local-disks") == "raid0",
    )


def _flags(words: Iterable[str]) -> Iterator[tuple[str, str]]:
    for word in words:
        name, _, value = word.partition("=")
        yield name, value


def _pairs(text: str | None, separator: str) -> dict[str, str]:
    return dict(pair.partition(separator)[::2] for pair in _listed(text))


def _listed(text: str | None) -> list[str]:
    return [part for part in (text or "").split(",") if part]


def _number(text: str | None) -> int | None:
    return int(text) if text else None


def _taint(mark: str, effect: str) -> Taint:
    key, _, value = mark.partition("=")
    return Taint(key, value, effect)


# --- AL2023 -----------------------------------------------------------------------------------------------------------


def _from_config(spec: Mapping[str, Any]) -> Join:
    kubelet = spec.get("kubelet", {})
    config = kubelet.get("config", {})
    flags = dict(_flags(word for flag in kubelet.get("flags", ()) for word in shlex.split(flag)))
    return Join(
        cluster=spec["cluster"]["name"],
        endpoint=spec["cluster"]["apiServerEndpoint"],
        labels=_pairs(flags.get("--node-labels"), "="),
        taints=tuple(Taint(one["key"], one.get("value", ""), one["effect"]) for one in _taints_of(config)),
        kubelet=KubeletConfiguration(
            max_pods=config.get("maxPods"),
            pods_per_core=config.get("podsPerCore"),
            system_reserved=parse_resources(config.get("systemReserved", {})),
            kube_reserved=parse_resources(config.get("kubeReserved", {})),
            eviction_hard=config.get("evictionHard", {}),
        ),
        local_disks_are_storage=spec.get("instance", {}).get("localStorage", {}).get("strategy") == "RAID0",
    )


def _taints_of(config: Mapping[str, Any]) -> list[Mapping[str, str]]:
    return list(config.get("registerWithTaints", ()))


# --- Bottlerocket -----------------------------------------------------------------------------------------------------


def _from_settings(settings: Mapping[str, Any]) -> Join:
    ours = settings["kubernetes"]
    taints = [_taint(f"{key}={value}", effect) for key, value, effect in _settings_taints(ours.get("node-taints", {}))]
    return Join(
        cluster=ours["cluster-name"],
        endpoint=ours["api-server"],
        labels=ours.get("node-labels", {}),
        taints=tuple(taints),
        kubelet=KubeletConfiguration(
            max_pods=ours.get("max-pods"),
            system_reserved=parse_resources(ours.get("system-reserved", {})),
            kube_reserved=parse_resources(ours.get("kube-reserved", {})),
            eviction_hard=ours.get("eviction-hard", {}),
        ),
        local_disks_are_storage="ephemeral-storage" in str(settings.get("bootstrap-commands", "")),
    )


def _settings_taints(table: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for key, given in table.items():
        for text in [given] if isinstance(given, str) else given:
            value, _, effect = text.rpartition(":")
            yield key, value, effect
