"""Kubelet settings as flags on its command line, and as fields of its configuration file."""

from __future__ import annotations

from collections.abc import Mapping

from karpenter.model.aws.userdata.bootstrap import Bootstrap
from karpenter.model.durations import format_duration_like_go
from karpenter.model.resources import format_resources


def kubelet_flags(boot: Bootstrap) -> list[str]:
    """Return the flags of a kubelet in the order of AWS-72; lists are sorted, so that equal settings are equal text."""
    kubelet = boot.kubelet
    taints = ",".join(f"{taint.key}={taint.value}:{taint.effect}" for taint in boot.taints)
    quoted = {
        "--node-labels": _joined(boot.labels, "="),
        "--register-with-taints": taints,
    }
    amounts = {
        "--system-reserved": _joined(format_resources(kubelet.system_reserved), "="),
        "--kube-reserved": _joined(format_resources(kubelet.kube_reserved), "="),
        "--eviction-hard": _joined(kubelet.eviction_hard, "<"),
        "--eviction-soft": _joined(kubelet.eviction_soft, "<"),
        "--eviction-soft-grace-period": _joined(_grace_periods(boot), "="),
    }
    numbers = {
        "--eviction-max-pod-grace-period": kubelet.eviction_max_pod_grace_period_s,
        "--image-gc-high-threshold": kubelet.image_gc_high_threshold_percent,
        "--image-gc-low-threshold": kubelet.image_gc_low_threshold_percent,
        "--cpu-cfs-quota": None if kubelet.cpu_cfs_quota is None else str(kubelet.cpu_cfs_quota).lower(),
    }
    pods = {"--max-pods": kubelet.max_pods, "--pods-per-core": kubelet.pods_per_core}
    return [*_quoted(quoted), *_plain(pods), *_quoted(amounts), *_plain(numbers)]


def _joined(values: Mapping[str, object], separator: str) -> str:
    return ",".join(f"{key}{separator}{values[key]}" for key in sorted(values))


def _quoted(flags: Mapping[str, str]) -> list[str]:
    return [f'{flag}="{text}"' for flag, text in flags.items() if text]


def _plain(flags: Mapping[str, object]) -> list[str]:
    return [f"{flag}={value}" for flag, value in flags.items() if value is not None]


def _grace_periods(boot: Bootstrap) -> dict[str, str]:
    periods = boot.kubelet.eviction_soft_grace_period_s
    return {signal: format_duration_like_go(seconds) for signal, seconds in periods.items()}


def kubelet_configuration(boot: Bootstrap) -> dict[str, object]:
    """Return the fields of a kubelet's configuration file, those that we do not know included (A-32)."""
    kubelet = boot.kubelet
    taints: list[dict[str, str]] = [
        {"key": taint.key, "effect": taint.effect} | ({"value": taint.value} if taint.value else {})
        for taint in boot.taints
    ]
    fields: dict[str, object] = {
        "clusterDNS": list(kubelet.cluster_dns),
        "maxPods": kubelet.max_pods,
        "podsPerCore": kubelet.pods_per_core,
        "systemReserved": format_resources(kubelet.system_reserved),
        "kubeReserved": format_resources(kubelet.kube_reserved),
        "evictionHard": dict(kubelet.eviction_hard),
        "evictionSoft": dict(kubelet.eviction_soft),
        "evictionSoftGracePeriod": _grace_periods(boot),
        "evictionMaxPodGracePeriod": kubelet.eviction_max_pod_grace_period_s,
        "imageGCHighThresholdPercent": kubelet.image_gc_high_threshold_percent,
        "imageGCLowThresholdPercent": kubelet.image_gc_low_threshold_percent,
        "cpuCFSQuota": kubelet.cpu_cfs_quota,
        "registerWithTaints": taints,
    }
    # Not `if value`: 0 and false say something.
    return {**boot.kubelet_fields, **{name: value for name, value in fields.items() if value not in (None, [], {})}}
