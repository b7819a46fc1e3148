"""Bottlerocket, whose user data is one TOML document of settings (AWS-75)."""

from __future__ import annotations

import tomllib
from typing import Any, Final

from karpenter.model.aws.userdata.bootstrap import Bootstrap
from karpenter.model.durations import format_duration_like_go
from karpenter.model.resources import format_resources

_MOUNT: Final = {
    "commands": [
        ["apiclient", "ephemeral-storage", "init"],
        [
            "apiclient",
            "ephemeral-storage",
            "bind",
            "--dirs",
            "/var/lib/containerd",
            "/var/lib/kubelet",
            "/var/log/pods",
        ],
    ],
    "mode": "always",
    "essential": True,
}


def bottlerocket_user_data(boot: Bootstrap) -> str:
    """Return the user's settings with ours over them; tables are sorted, comments are lost.

    Raises:
        ValueError: the user's part is not TOML, or a table of ours is something else there.
    """
    import tomlkit  # noqa: PLC0415  (optional: only the extra `aws` brings it)

    document: dict[str, Any] = tomllib.loads(boot.custom)
    settings = _table(document, "settings")
    kubernetes = _table(settings, "kubernetes")
    kubernetes.update(_ours(boot))
    _table(kubernetes, "node-labels").update(boot.labels)
    scaling = settings.get("autoscaling")
    if isinstance(scaling, dict) and "should-wait" in scaling:
        # Our nodes join no scaling group: the kubelet would wait for ever.
        scaling["should-wait"] = False
    if boot.local_disks_are_storage:
        _table(settings, "bootstrap-commands")["000-mount-instance-storage"] = _MOUNT
    return tomlkit.dumps(document, sort_keys=True)


def _table(parent: dict[str, Any], name: str) -> dict[str, Any]:
    found = parent.setdefault(name, {})
    if not isinstance(found, dict):
        raise ValueError(f"{name} must be a table, got {found!r}")
    return found


def _ours(boot: Bootstrap) -> dict[str, Any]:
    """Return our settings; those that nobody set are not among them, and the user's stay."""
    kubelet = boot.kubelet
    grace = kubelet.eviction_soft_grace_period_s
    # One address is text, several are a list: Bottlerocket takes both, and older ones only text.
    dns = kubelet.cluster_dns[0] if len(kubelet.cluster_dns) == 1 else list(kubelet.cluster_dns)
    given: dict[str, Any] = {
        "api-server": boot.cluster.endpoint,
        "cluster-certificate": boot.cluster.ca_bundle,
        "cluster-name": boot.cluster.name,
        "cluster-dns-ip": dns,
        "max-pods": kubelet.max_pods,
        "system-reserved": format_resources(kubelet.system_reserved),
        "kube-reserved": format_resources(kubelet.kube_reserved),
        "eviction-hard": dict(kubelet.eviction_hard),
        "eviction-soft": dict(kubelet.eviction_soft),
        "eviction-soft-grace-period": {key: format_duration_like_go(seconds) for key, seconds in grace.items()},
        "eviction-max-pod-grace-period": kubelet.eviction_max_pod_grace_period_s,
        "image-gc-high-threshold-percent": _text(kubelet.image_gc_high_threshold_percent),
        "image-gc-low-threshold-percent": _text(kubelet.image_gc_low_threshold_percent),
        "cpu-cfs-quota-enforced": kubelet.cpu_cfs_quota,
    }
    settings = {key: value for key, value in given.items() if value not in (None, "", [], {})}
    return {**settings, "node-taints": _taints(boot)}


def _taints(boot: Bootstrap) -> dict[str, list[str]]:
    """Return taint key to the `value:effect` of each; the user's own are not kept, or nodes had taints unplanned."""
    taints: dict[str, list[str]] = {}
    for taint in boot.taints:
        taints.setdefault(taint.key, []).append(f"{taint.value}:{taint.effect}")
    return taints


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)
