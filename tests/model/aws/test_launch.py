"""What one launch asks EC2 for (spec v1alpha5 §3.5, vectors TV-90 … TV-94; spec v1 A-34)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from karpenter.model import labels
from karpenter.model.aws.catalog import load_aws_catalog
from karpenter.model.aws.instancetypes import instance_type
from karpenter.model.aws.launch import LaunchPlan, is_exotic, plan_launch
from karpenter.model.instancetype import InstanceType, Offering
from karpenter.model.requirements import Requirement, Requirements
from karpenter.model.resources import parse_resources
from tests.awsbuilders import REGION, a_record, names
from tests.builders import an_instance_type

BOTH = {labels.CAPACITY_TYPE: ("spot", "on-demand")}


def plan(
    *types: InstanceType,
    allowed: Mapping[str, Sequence[str]] | None = None,
    min_types: int | None = None,
    **requests: str,
) -> LaunchPlan | None:
    wanted = [Requirement.of(key, "In", values) for key, values in (allowed or {}).items()]
    if min_types:
        wanted.append(Requirement.of(labels.INSTANCE_TYPE, "Exists", min_values=min_types))
    return plan_launch(types, Requirements(wanted), parse_resources(requests))


def options(planned: LaunchPlan | None) -> list[tuple[str, str]]:
    assert planned is not None
    return [(found.name, offering.zone) for found, offering in planned.options]


def real(name: str) -> InstanceType:
    return instance_type(a_record(name), region=REGION, offerings=[Offering("us-west-2a", "on-demand", 1.0)])


def test_spot_is_asked_for_where_it_is_allowed_and_on_offer() -> None:
    """TV-90, AWS-44."""
    planned = plan(an_instance_type("m.4", zones=("a",)), allowed=BOTH)
    assert planned is not None
    assert (planned.capacity_type, planned.fell_back) == ("spot", False)
    assert {offering.capacity_type for _, offering in planned.options} == {"spot"}


def test_on_demand_is_asked_for_when_no_spot_offering_is_left() -> None:
    """TV-91, AWS-44."""
    planned = plan(an_instance_type("m.4", zones=("a",), unavailable=[("a", "spot")]), allowed=BOTH)
    assert planned is not None
    assert (planned.capacity_type, planned.fell_back) == ("on-demand", True)


def test_spot_left_in_a_forbidden_zone_does_not_count() -> None:
    """AWS-44."""
    found = an_instance_type("m.4", zones=("a", "b"), unavailable=[("a", "spot")])
    planned = plan(found, allowed={**BOTH, labels.ZONE: ("a",)})
    assert planned is not None
    assert planned.capacity_type == "on-demand"


def test_a_type_whose_spot_is_dearer_than_on_demand_is_dropped_from_a_mixed_launch_only() -> None:
    """TV-92, AWS-42; spec v1 V63."""
    cheap = an_instance_type("m.2", price=0.17, spot_price=0.05, zones=("a",))
    dear = an_instance_type("x.9", price=0.60, spot_price=0.20, zones=("a",))
    assert options(plan(cheap, dear, allowed=BOTH)) == [("m.2", "a")]
    assert options(plan(cheap, dear, allowed={labels.CAPACITY_TYPE: ("spot",)})) == [("m.2", "a"), ("x.9", "a")]


def test_gpu_types_are_dropped_for_a_plain_pod_and_kept_for_one_that_needs_them() -> None:
    """TV-94, AWS-41."""
    types = real("g4dn.xlarge"), real("m5.xlarge")
    assert options(plan(*types)) == [("m5.xlarge", "us-west-2a")]
    assert options(plan(*types, **{"nvidia.com/gpu": "1"})) == [("g4dn.xlarge", "us-west-2a")]


def test_exotic_types_are_kept_when_nothing_else_is_left() -> None:
    """AWS-41."""
    assert options(plan(real("m5.metal"), real("p3.8xlarge"))) == [
        ("m5.metal", "us-west-2a"),
        ("p3.8xlarge", "us-west-2a"),
    ]


def test_min_values_keep_exotic_types() -> None:
    """Spec v1 A-34, V64."""
    assert len(options(plan(real("g4dn.xlarge"), real("m5.xlarge"), min_types=2))) == 2


def test_metal_and_every_kind_of_device_is_exotic() -> None:
    """AWS-41; fractions of a GPU (g6f) count no device and are exotic all the same."""
    exotic = ["m5.metal", "c7i.metal-24xl", "g4dn.xlarge", "g4ad.xlarge", "inf1.2xlarge", "dl1.24xlarge", "g6f.large"]
    assert [name for name in exotic if not is_exotic(real(name))] == []
    assert not is_exotic(real("m5.large"))


def test_types_too_small_or_of_another_kind_are_not_asked_for() -> None:
    """AWS-40."""
    small, large, arm = (
        an_instance_type("m.2", cpu="2"),
        an_instance_type("m.8", cpu="8"),
        an_instance_type("g.8", cpu="8", arch="arm64"),
    )
    planned = plan(small, large, arm, allowed={labels.ARCH: ("amd64",)}, cpu="4")
    assert planned is not None
    assert {found.name for found, _ in planned.options} == {"m.8"}


def test_a_requirement_on_a_label_that_types_do_not_have_is_no_obstacle() -> None:
    """API-27: pools define labels of their own."""
    assert plan(an_instance_type("m.4"), allowed={"team": ("web",)}) is not None


def test_nothing_suitable_is_no_plan() -> None:
    """AWS-40."""
    assert plan(an_instance_type("m.4"), cpu="400") is None
    assert plan(an_instance_type("m.4"), allowed={labels.ZONE: ("z",)}) is None


def test_options_are_cheapest_first_with_ties_by_name_and_zone() -> None:
    """AWS-43, AWS-46."""
    b_first = an_instance_type("b", price=0.1, zones=("z2", "z1"))
    a_first = an_instance_type("a", price=0.1, zones=("z1",))
    cheap = an_instance_type("c", price=0.05, zones=("z9",))
    assert options(plan(b_first, a_first, cheap, allowed={labels.CAPACITY_TYPE: ("on-demand",)})) == [
        ("c", "z9"),
        ("a", "z1"),
        ("b", "z1"),
        ("b", "z2"),
    ]


def test_at_most_sixty_types_are_named_the_cheapest_ones() -> None:
    """AWS-43, TV-93."""
    types = [an_instance_type(f"t{number:03}", price=1.0 + number / 100, zones=("a",)) for number in range(90)]
    planned = plan(*reversed(types), allowed={labels.CAPACITY_TYPE: ("on-demand",)})
    assert planned is not None
    assert names(found for found, _ in planned.options) == [f"t{number:03}" for number in range(60)]


SOME = [found for found in map(real, sorted(load_aws_catalog().records)[::25]) if not is_exotic(found)]
KEYS = (labels.ARCH, labels.INSTANCE_CPU, labels.INSTANCE_CATEGORY, labels.INSTANCE_LOCAL_NVME, labels.ZONE, "team")
OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")


@st.composite
def wanted(draw: st.DrawFn) -> Requirement:
    operator = draw(st.sampled_from(OPERATORS))
    values: Sequence[str] = ("4",)
    if operator in {"In", "NotIn"}:
        values = draw(st.lists(st.sampled_from(["amd64", "arm64", "4", "c", "m", "us-west-2a"]), max_size=3))
    return Requirement.of(draw(st.sampled_from(KEYS)), operator, values)


@given(st.lists(wanted(), max_size=3))
def test_exactly_the_types_that_do_not_conflict_with_the_claim_are_asked_for(entries: list[Requirement]) -> None:
    """AWS-40, by the algebra's own definition (API-26)."""
    requirements = Requirements(entries)
    planned = plan_launch(SOME, requirements, {})
    asked = {found.name for found, _ in planned.options} if planned else set()
    zones = requirements.allowed(labels.ZONE)
    expected = {
        found.name for found in SOME if zones.allows("us-west-2a") and not found.requirements.conflicts(requirements)
    }
    assert asked == expected


def held(name: str, *reservations: tuple[str, int, str]) -> InstanceType:
    """Return a type offered on demand, as spot, and in reservations (id, machines left, type)."""
    found = an_instance_type(name, zones=("a",))
    more = [
        Offering("a", "reserved", 2e-8, reservation_id=identity, reservation_capacity=left, reservation_type=kind)
        for identity, left, kind in reservations
    ]
    return replace(found, offerings=(*found.offerings, *more))


def reservations(planned: LaunchPlan | None) -> list[str | None]:
    assert planned is not None
    return [offering.reservation_id for _, offering in planned.options]


def test_a_reservation_that_holds_machines_comes_before_spot_and_on_demand() -> None:
    """A-34, A-36."""
    planned = plan(held("m.4", ("cr-1", 1, "default")), an_instance_type("c.4", price=0.01, zones=("a",)))
    assert (planned and planned.capacity_type, reservations(planned)) == ("reserved", ["cr-1"])


def test_an_empty_reservation_and_one_that_the_claim_does_not_name_are_left_alone() -> None:
    """A-28, S-54."""
    types = held("m.4", ("cr-1", 0, "default"), ("cr-2", 1, "default"))
    assert reservations(plan(types, allowed={labels.RESERVATION_ID: ["cr-2"]})) == ["cr-2"]
    assert plan(types, allowed={labels.RESERVATION_ID: ["cr-1"]}) is None
    assert reservations(plan(types, allowed=BOTH)) == [None]


def test_one_request_names_reservations_of_one_type_and_of_capacity_blocks_only_one() -> None:
    """A-34."""
    block = ("cr-block-1", 1, "capacity-block"), ("cr-block-2", 1, "capacity-block")
    assert reservations(plan(held("m.4", ("cr-1", 1, "default"), *block, ("cr-2", 1, "default")))) == ["cr-1", "cr-2"]
    assert reservations(plan(held("m.4", *block))) == ["cr-block-1"]
