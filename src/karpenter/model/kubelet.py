"""Reading kubelet settings, which a Provisioner and an EC2NodeClass share.

Source: spec v1alpha5 §1.3 (API-40 to 44), spec v1 A-30.
"""

from __future__ import annotations

import re
from typing import Final

from karpenter.model.durations import parse_go_duration
from karpenter.model.nodepool import KubeletConfiguration
from karpenter.model.quantity import parse_quantity
from karpenter.model.reading import INT32_MAX, Reader

RESERVED_KEYS: Final = ("cpu", "memory", "ephemeral-storage", "pid")
EVICTION_SIGNALS: Final = (
    "memory.available",
    "nodefs.available",
    "nodefs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
    "pid.available",
)
_FLOAT: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def read_kubelet(reader: Reader, *, eviction_max_pod_grace_period_s: int | None) -> KubeletConfiguration:
    """Return the settings of one `kubelet` object, its grace period for evictions having been read by the caller."""
    soft = _read_thresholds(reader, "evictionSoft")
    grace = _read_grace_periods(reader)
    _check_soft_pairs(reader, set(soft), set(grace))
    high, low = _read_image_gc(reader)
    return KubeletConfiguration(
        cluster_dns=reader.strings("clusterDNS"),
        container_runtime=reader.text("containerRuntime"),
        max_pods=reader.integer("maxPods", minimum=0, maximum=INT32_MAX),
        pods_per_core=reader.integer("podsPerCore", minimum=0, maximum=INT32_MAX),
        system_reserved=_read_reserved(reader, "systemReserved"),
        kube_reserved=_read_reserved(reader, "kubeReserved"),
        eviction_hard=_read_thresholds(reader, "evictionHard"),
        eviction_soft={key: text for key, text in soft.items() if key in grace},
        eviction_soft_grace_period_s={key: seconds for key, seconds in grace.items() if key in soft},
        eviction_max_pod_grace_period_s=eviction_max_pod_grace_period_s,
        image_gc_high_threshold_percent=high,
        image_gc_low_threshold_percent=low,
        cpu_cfs_quota=reader.boolean("cpuCFSQuota"),
    )


def _read_reserved(reader: Reader, name: str) -> dict[str, int]:
    entries = reader.part(name)
    found: dict[str, int] = {}
    for key in entries.own_keys():
        amount = entries.amount(key, key)
        if key not in RESERVED_KEYS:
            entries.fail(key, f"{key!r} cannot be reserved", f"one of {', '.join(RESERVED_KEYS)}")
        elif amount is not None and entries.check(key, "must not be negative" if amount < 0 else None):
            found[key] = amount
    return found


def _is_signal(entries: Reader, key: str) -> bool:
    fault = None if key in EVICTION_SIGNALS else f"{key!r} is not an eviction signal"
    return entries.check(key, fault, f"one of {', '.join(EVICTION_SIGNALS)}")


def _read_thresholds(reader: Reader, name: str) -> dict[str, str]:
    entries = reader.part(name)
    found: dict[str, str] = {}
    for key in entries.own_keys():
        text = entries.text(key)
        if _is_signal(entries, key) and text is not None and entries.check(key, threshold_fault(text)):
            found[key] = text
    return found


def threshold_fault(text: str) -> str | None:
    """Judge an eviction threshold: a percentage of 0 to 100, or a quantity, which may be negative (API-40, API-41)."""
    if text.endswith("%"):
        number = text[:-1]
        if not _FLOAT.fullmatch(number):
            return f"could not parse {text!r} as a percentage"
        if not 0 <= float(number) <= 100:
            return f"{text!r} must be a percentage from 0% to 100%"
        return None
    try:
        parse_quantity(text)
    except ValueError:
        return f"{text!r} is neither a percentage such as 5% nor a quantity such as 500Mi"
    return None


def _read_grace_periods(reader: Reader) -> dict[str, float]:
    entries = reader.part("evictionSoftGracePeriod")
    found: dict[str, float] = {}
    for key in entries.own_keys():
        seconds = entries.parsed(key, parse_go_duration, default=None)
        if _is_signal(entries, key) and seconds is not None:
            entries.check(key, "must not be negative" if seconds < 0 else None)
            found[key] = seconds
    return found


def _check_soft_pairs(reader: Reader, soft: set[str], grace: set[str]) -> None:
    """API-42. Compares what is written, so that an entry with another fault does not make its partner one too."""
    for key in sorted(soft - _written(reader, "evictionSoftGracePeriod")):
        reader.fail("evictionSoft", f"{key} has no entry in evictionSoftGracePeriod", "each soft threshold needs one")
    for key in sorted(grace - _written(reader, "evictionSoft")):
        reader.fail("evictionSoftGracePeriod", f"{key} has no entry in evictionSoft", "remove it or add the threshold")


def _written(reader: Reader, name: str) -> set[str]:
    value = reader.value(name)
    return set(value) if isinstance(value, dict) else set()


def _read_image_gc(reader: Reader) -> tuple[int | None, int | None]:
    high = reader.integer("imageGCHighThresholdPercent", minimum=0, maximum=100)
    low = reader.integer("imageGCLowThresholdPercent", minimum=0, maximum=100)
    if high is not None and low is not None and high < low:
        reader.fail("imageGCHighThresholdPercent", f"{high} is below imageGCLowThresholdPercent {low}")
    return high, low
