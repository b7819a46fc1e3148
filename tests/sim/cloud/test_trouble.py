"""Trouble as users write it."""

from karpenter.sim.cloud.trouble import read_faults, read_reservations, read_shortages, read_stocks
from karpenter.sim.market.capacity import Pattern, Shortage, Stock
from karpenter.sim.market.faults import Fault, FaultKind
from karpenter.sim.market.reservations import CapacityReservation


def test_a_shortage_is_type_zone_and_capacity_type_and_what_is_left_out_means_all() -> None:
    text = """
    m5.* us-west-2a spot   # a comment
    c5.large

    """
    assert read_shortages(text) == (
        [Shortage(Pattern("m5.*", "us-west-2a", "spot")), Shortage(Pattern("c5.large"))],
        [],
    )


def test_stock_is_a_number_and_what_it_is_of() -> None:
    assert read_stocks("5 c6g.* * spot\n0") == ([Stock(Pattern("c6g.*", "*", "spot"), 5), Stock(Pattern(), 0)], [])


def test_a_fault_is_operation_kind_and_details() -> None:
    assert read_faults("create throttle times=3 seconds=2.5\n* slow\ncreate other-type type=m5.large") == (
        [
            Fault(FaultKind.THROTTLE, "create", times=3, seconds=2.5),
            Fault(FaultKind.SLOW, "*"),
            Fault(FaultKind.OTHER_TYPE, "create", instance_type="m5.large"),
        ],
        [],
    )


def test_lines_that_make_no_sense_are_told_and_the_others_count() -> None:
    assert read_shortages("a b c d\nm5.large") == (
        [Shortage(Pattern("m5.large"))],
        ["'a b c d': expected at most type, zone and capacity type"],
    )
    assert read_stocks("many c5.*")[1] == ["'many c5.*': expected a number of instances first, got 'many'"]


def test_faults_that_make_no_sense_say_what_would() -> None:
    wrong = "launch error\ncreate\ncreate burn\ncreate error times=x\ncreate error size=3\ncreate other-type"
    assert read_faults(wrong) == (
        [],
        [
            "'launch error': 'launch' is not one of create, delete, get, list, instance_types, *, nor of AWS",
            "'create': '' is not one of error, throttle, unauthorized, slow, lost-reply, other-type",
            "'create burn': 'burn' is not one of error, throttle, unauthorized, slow, lost-reply, other-type",
            "'create error times=x': times=x is not a number",
            "'create error size=3': 'size' is not one of times, seconds, code, type",
            "'create other-type': type=NAME is missing: which instance type should come instead?",
        ],
    )


def test_a_reservation_is_id_type_zone_and_machines() -> None:
    assert read_reservations("cr-1 m5.large us-west-2a 3\ncr-2 p5.48xlarge us-west-2b 1 capacity-block") == (
        [
            CapacityReservation("cr-1", "m5.large", "us-west-2a", 3),
            CapacityReservation("cr-2", "p5.48xlarge", "us-west-2b", 1, "capacity-block"),
        ],
        [],
    )
    assert read_reservations("cr-1 m5.large us-west-2a many\ncr-1 m5.large us-west-2a 3 open")[1] == [
        "'cr-1 m5.large us-west-2a many': expected id, instance type, zone and a number of machines",
        "'cr-1 m5.large us-west-2a 3 open': 'open' is not one of default, capacity-block",
    ]
