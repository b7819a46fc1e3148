"""Volumes in plans: zones of volumes, attach limits of nodes and types, claims that keep a pod pending."""

from karpenter.model import labels
from karpenter.scheduling import Solution
from karpenter.scheduling.classes import Surroundings, group
from karpenter.scheduling.defaults import Defaults
from karpenter.scheduling.stores import stores_of
from tests.builders import a_node_view, a_snapshot
from tests.scheduling.stores import (
    AT_ONCE,
    EBS,
    a_csi_node,
    a_storage_class,
    a_volume,
    a_volume_claim,
    using,
    volumes_of,
    with_ephemeral,
)
from tests.scheduling.toys import machines, on_demand, solved, toys, why

ZONE = labels.ZONE


def zones(solution: Solution) -> list[str]:
    return sorted(plan.zone for plan in solution.new_claims)


def test_a_machine_is_launched_in_the_zone_of_the_volume() -> None:
    """SCH-52, TV-79."""
    volumes = volumes_of(a_volume_claim(volume="pv"), a_volume(zone="b"))
    (plan,) = solved([using("pod", "data")], volumes=volumes).new_claims
    assert plan.requirements[ZONE].values == {"b"}


def test_a_volume_in_a_zone_that_no_pool_serves_is_named() -> None:
    """TV-79."""
    volumes = volumes_of(a_volume_claim(volume="pv"), a_volume(zone="c"))
    pools = [on_demand(requirements={ZONE: ["a", "b"]})]
    ((code, message),) = why(solved([using("pod", "data")], pools=pools, volumes=volumes))
    assert code == "VolumeConflict"
    assert "'data'" in message
    assert f"{ZONE} In [c]" in message


def test_a_class_that_waits_may_limit_the_zones() -> None:
    """TV-80."""
    volumes = volumes_of(a_volume_claim(), a_storage_class(topologies=[{ZONE: ["b"]}]))
    (plan,) = solved([using("pod", "data")], volumes=volumes).new_claims
    assert plan.requirements[ZONE].values == {"b"}


def test_volumes_of_another_region_keep_the_pod_pending() -> None:
    """SCH-55."""
    volumes = volumes_of(a_volume_claim(volume="pv"), a_volume(terms=[{labels.REGION: ["elsewhere"]}]))
    types = toys(labels={labels.REGION: "here"})
    assert len(solved([using("pod", "data")], types=types, volumes=volumes).unschedulable) == 1


def test_pods_are_one_class_whatever_their_own_volumes_are_called() -> None:
    claims = [a_volume_claim(f"data-{at}") for at in range(50)]
    pods = [using(f"pod-{at}", f"data-{at}") for at in range(50)]
    snapshot = a_snapshot(volumes=volumes_of(*claims))
    surroundings = Surroundings(stores_of(snapshot, pods, []), Defaults.of(snapshot, ()), {})
    assert [cls.size for cls in group(pods, surroundings).classes] == [50]
    assert machines(solved(pods, types=toys("c.8", "c.16"), volumes=volumes_of(*claims))) == ["c.8"]


def test_a_node_that_attaches_no_more_volumes_is_passed_over() -> None:
    """TV-81, VOL-COUNT (a)."""
    held = [using(f"held-{at}", f"held-{at}", node="n1") for at in range(3)]
    node = a_node_view("n1", cpu="16", memory="64Gi", zone="a", pods=held, csi=a_csi_node("n1", 3))
    claims = [a_volume_claim(name) for name in ("held-0", "held-1", "held-2", "data")]
    full = solved([using("pod", "data")], nodes=[node], volumes=volumes_of(*claims))
    assert machines(full) == ["c.1"]
    roomy = a_node_view("n1", cpu="16", memory="64Gi", zone="a", pods=held, csi=a_csi_node("n1", 4))
    assert machines(solved([using("pod", "data")], nodes=[roomy], volumes=volumes_of(*claims))) == []


def test_new_machines_attach_only_so_many_volumes() -> None:
    """VOL-COUNT (b)."""
    claims = [a_volume_claim(f"data-{at}") for at in range(100)]
    pods = [using(f"pod-{at}", f"data-{at}", cpu="50m") for at in range(100)]
    types = toys("c.2", "c.8", volume_limits={EBS: 25})
    plan = solved(pods, types=types, volumes=volumes_of(*claims))
    assert len(plan.new_claims) == 4
    assert {len(claim.pods) for claim in plan.new_claims} == {25}


def test_a_volume_that_two_pods_share_counts_once() -> None:
    """VOL-COUNT (c)."""
    node = a_node_view("n1", cpu="16", memory="64Gi", zone="a", csi=a_csi_node("n1", 1))
    volumes = volumes_of(a_volume_claim(), a_volume_claim("other"))
    sharing = [using("one", "data"), using("two", "data")]
    assert machines(solved(sharing, nodes=[node], volumes=volumes)) == []
    assert machines(solved([*sharing, using("three", "other")], nodes=[node], volumes=volumes)) == ["c.1"]


def test_shared_volumes_count_once_on_new_machines_too() -> None:
    volumes = volumes_of(a_volume_claim(), a_volume_claim("other"))
    pods = [using("one", "data"), using("two", "data"), using("three", "other")]
    assert len(solved(pods, types=toys(volume_limits={EBS: 1}), volumes=volumes).new_claims) == 2


def test_a_volume_on_a_node_already_takes_nothing_more_there() -> None:
    held = using("held", "data", node="n1")
    node = a_node_view("n1", cpu="16", memory="64Gi", zone="a", pods=[held], csi=a_csi_node("n1", 1))
    assert machines(solved([using("pod", "data")], nodes=[node], volumes=volumes_of(a_volume_claim()))) == []


def test_other_drivers_have_limits_of_their_own() -> None:
    node = a_node_view("n1", cpu="16", memory="64Gi", zone="a", csi=a_csi_node("n1", 0))
    files = a_storage_class("files", provisioner="efs.csi.aws.com")
    volumes = volumes_of(a_volume_claim(storage_class="files"), files)
    assert machines(solved([using("pod", "data")], nodes=[node], volumes=volumes)) == []


def test_a_node_that_comes_up_has_the_limit_of_its_type_until_it_says_its_own() -> None:
    pool = on_demand()
    node = a_node_view("n1", cpu="16", memory="64Gi", pool=pool, instance_type="c.16", is_initialized=False)
    volumes = volumes_of(a_volume_claim(), a_volume_claim("other"))
    pods = [using("one", "data"), using("two", "other")]
    types = toys(volume_limits={EBS: 1})
    assert len(solved(pods, nodes=[node], pools=[pool], types=types, volumes=volumes).new_claims) == 1


def test_more_volumes_than_any_machine_attaches_are_named() -> None:
    claims = [a_volume_claim(f"data-{at}") for at in range(3)]
    pod = using("pod", "data-0", "data-1", "data-2")
    ((code, message),) = why(solved([pod], types=toys("c.4", volume_limits={EBS: 2}), volumes=volumes_of(*claims)))
    assert code == "InsufficientResources"
    assert f"needs 3 volumes of {EBS}" in message
    assert "has 2" in message


def test_a_claim_that_binds_at_once_keeps_the_pod_pending_in_words() -> None:
    """S-6."""
    volumes = volumes_of(a_volume_claim(), a_storage_class(mode=AT_ONCE))
    ((code, message),) = why(solved([using("pod", "data")], volumes=volumes))
    assert code == "VolumeUnavailable"
    assert "binds at once" in message


def test_ephemeral_volumes_are_each_pod_s_own() -> None:
    pods = [with_ephemeral(f"pod-{at}", cpu="50m") for at in range(10)]
    assert len(solved(pods, types=toys(volume_limits={EBS: 5}), volumes=volumes_of()).new_claims) == 2


def test_the_volume_decides_the_zone_before_the_spread_is_judged() -> None:
    """S-42: every zone counts for the spread, though the volume can be reached from one only."""
    rule = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "db"}},
    }
    volumes = volumes_of(
        *(a_volume_claim(f"data-{at}") for at in range(3)), a_storage_class(topologies=[{ZONE: ["b"]}])
    )
    pods = [using(f"db-{at}", f"data-{at}", labels={"app": "db"}, spread=[rule]) for at in range(3)]
    plan = solved(pods, volumes=volumes)
    assert zones(plan) == ["b"]
    assert len(plan.unschedulable) == 2
