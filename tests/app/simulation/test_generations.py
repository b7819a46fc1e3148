"""Warnings about plans that are cheap because their machines are old."""

from karpenter.app.simulation.generations import about_generations, newest_of
from karpenter.model import labels
from karpenter.model.instancetype import InstanceType
from karpenter.scheduling import Demand, Options, solve
from tests.builders import a_pod, a_snapshot, an_instance_type
from tests.scheduling.toys import on_demand


def a_type(family: str, price: float, *, size: str = "xlarge", cpu: str = "4", arch: str = "amd64") -> InstanceType:
    facts = {
        labels.INSTANCE_CATEGORY: family[0],
        labels.INSTANCE_FAMILY: family,
        labels.INSTANCE_GENERATION: family[1],
    }
    return an_instance_type(f"{family}.{size}", cpu=cpu, memory="8Gi", price=price, arch=arch, labels=facts)


def warnings(*types: InstanceType, cpu: str = "3") -> list[str]:
    snapshot = a_snapshot(types=types, pools=[on_demand()])
    demand = Demand.each([a_pod(cpu=cpu)])
    return about_generations(snapshot, demand, Options(), solution=solve(snapshot, demand))


def test_an_older_generation_that_makes_the_plan_cheaper_is_told_with_the_price_of_the_newest() -> None:
    (said,) = warnings(a_type("c5", 0.10), a_type("c7", 0.15))
    assert said == (
        "1 of 1 new nodes are of older generations or flex types (c5.xlarge); "
        "within the newest the plan costs $0.1500 an hour, 50.0 % more"
    )


def test_a_flex_type_of_the_newest_generation_is_told_too() -> None:
    (said,) = warnings(a_type("c7i-flex", 0.10), a_type("c7i", 0.11))
    assert "(c7i-flex.xlarge); within the newest the plan costs $0.1100" in said


def test_nothing_is_said_when_the_newest_cost_the_same() -> None:
    assert warnings(a_type("c5", 0.15), a_type("c7", 0.15)) == []


def test_nothing_is_said_of_a_plan_of_the_newest() -> None:
    assert warnings(a_type("c5", 0.20), a_type("c7", 0.15)) == []


def test_pods_that_only_an_older_type_holds_are_told() -> None:
    (said,) = warnings(a_type("c5", 0.3, cpu="8", size="2xlarge"), a_type("c7", 0.15), cpu="7")
    assert said.endswith("the newest alone would leave 1 pods without a place")


def test_generations_are_compared_within_category_and_architecture() -> None:
    types = [a_type("m5", 0.1), a_type("c7", 0.1), a_type("c8g", 0.1, arch="arm64"), a_type("c6", 0.1)]
    assert [kind.name for kind in newest_of(types)] == ["m5.xlarge", "c7.xlarge", "c8g.xlarge"]


def test_types_without_a_generation_count_as_new() -> None:
    assert len(newest_of([an_instance_type("plain")])) == 1
