"""The table of metrics: Karpenter's names and labels (spec v1 §5.3), summaries, stale label sets."""

import asyncio
import re

import pytest

from karpenter.runtime.instruments import DURATION_BUCKETS, Instruments, Summary, counter, gauge, refresh, summary
from karpenter.runtime.metrics import WELL_KNOWN, Metrics


class Small(Instruments):
    things_total = counter("Things.", "kind")
    level = gauge("Level.", "pool", prefix="")
    age_seconds = summary("Age.", "pool")


async def test_a_metric_is_named_after_its_attribute_with_our_prefix(clock) -> None:
    metrics = Small(clock)
    metrics.things_total.labels(kind="a").inc()
    metrics.level.labels("default").set(3)
    assert [line for line in metrics.render().decode().splitlines() if not line.startswith("#")] == [
        'karpenter_things_total{kind="a"} 1.0',
        'level{pool="default"} 3.0',
    ]


async def test_instances_share_nothing(clock) -> None:
    first, second = Small(clock), Small(clock)
    first.things_total.labels(kind="a").inc()
    assert b'kind="a"' not in second.render()


async def test_a_summary_has_count_sum_and_quantiles_of_ten_minutes(clock) -> None:
    metrics = Small(clock)
    for age in range(1, 101):
        metrics.age_seconds.observe(age, pool="default")
    value = metrics.registry.get_sample_value
    quantiles = {
        quantile: value("karpenter_age_seconds", {"pool": "default", "quantile": quantile})
        for quantile in ("0", "0.5", "0.9", "0.99", "1")
    }
    assert quantiles == {"0": 1, "0.5": 50, "0.9": 90, "0.99": 99, "1": 100}
    await asyncio.sleep(Summary.WINDOW_S + 1)
    metrics.age_seconds.observe(7, pool="default")
    assert value("karpenter_age_seconds", {"pool": "default", "quantile": "0"}) == 7
    assert value("karpenter_age_seconds_count", {"pool": "default"}) == 101
    assert value("karpenter_age_seconds_sum", {"pool": "default"}) == 5057


async def test_a_summary_without_recent_observations_has_no_quantiles_but_keeps_its_count(clock) -> None:
    metrics = Small(clock)
    metrics.age_seconds.observe(1, pool="default")
    await asyncio.sleep(Summary.WINDOW_S + 1)
    text = metrics.render().decode()
    assert 'karpenter_age_seconds{pool="default",quantile="0.5"} NaN' in text
    assert 'karpenter_age_seconds_count{pool="default"} 1.0' in text


async def test_a_refreshed_gauge_loses_the_label_sets_that_are_gone(clock) -> None:
    """MET-2."""
    metrics = Small(clock)
    refresh(metrics.level, {("a",): 1, ("b",): 2})
    refresh(metrics.level, {("b",): 3})
    assert [line for line in metrics.render().decode().splitlines() if line.startswith("level")] == [
        'level{pool="b"} 3.0'
    ]


async def test_all_metrics_render_as_prometheus_text(clock) -> None:
    text = Metrics(clock).render().decode()
    assert "# TYPE karpenter_nodeclaims_created_total counter" in text
    assert "# TYPE karpenter_nodes_termination_duration_seconds summary" in text
    assert "# TYPE controller_runtime_reconcile_time_seconds histogram" in text
    assert "_created " not in text


async def test_names_follow_prometheus_rules(clock) -> None:
    names = re.findall(r"^# TYPE (\S+) (\S+)$", Metrics(clock).render().decode(), flags=re.MULTILINE)
    assert [name for name, kind in names if kind == "counter" and not name.endswith("_total")] == []
    assert len(names) == len(set(names))


def test_durations_have_45_buckets_up_to_ten_minutes() -> None:
    """Spec v1 §5.3."""
    assert (len(DURATION_BUCKETS), DURATION_BUCKETS[0], DURATION_BUCKETS[-1]) == (45, 0.005, 600)


def test_node_metrics_have_a_label_for_every_well_known_key() -> None:
    """Spec v1 §5.3: what follows the slash, with underscores."""
    assert {"nodepool", "zone", "arch", "os", "instance_type", "capacity_type", "instance_family"} <= set(WELL_KNOWN)


async def test_a_missing_label_is_an_error(clock) -> None:
    with pytest.raises(KeyError, match="pool"):
        Small(clock).age_seconds.observe(1)
