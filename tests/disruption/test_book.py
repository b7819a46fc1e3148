"""What is remembered of consolidation: issue 6, point 3 (closed loop, rails that reach into the past)."""

from dataclasses import replace

import msgspec

from karpenter.disruption.book import SETTLED_S, Book, read_on, watching
from karpenter.disruption.past import PastMove
from karpenter.disruption.records import CommandRecord, encode_record
from karpenter.model.core import Pod
from karpenter.model.labels import DISRUPTION_COMMAND, REPLACEMENT_FOR
from karpenter.model.units import UnixSeconds, to_rfc3339
from karpenter.scheduling import Policy
from karpenter.scheduling.snapshot import NodeView, Snapshot
from tests.builders import EPOCH, a_claim, a_node_view, a_pod, a_pool, a_snapshot, an_owner

POOL = a_pool()
POLICY = Policy(node_fee=0.0)
RECORD = CommandRecord(
    id="x", reason="Underutilized", claims=("old",), replacements=("new",), started_at=EPOCH, savings=0.1
)


def a_node_of(claim: str, *pods: Pod, price: float = 0.2, created: float = EPOCH - 9999, **notes: str) -> NodeView:
    made = a_claim(claim, pool=POOL, created=to_rfc3339(UnixSeconds(created)))
    made = replace(made, metadata=msgspec.structs.replace(made.metadata, annotations=dict(notes)))
    return a_node_view(f"node-{claim}", pool=POOL, pods=pods, price=price, claim=made)


def noted(record: CommandRecord) -> dict[str, str]:
    return {DISRUPTION_COMMAND: encode_record(record)}


def web(name: str, created: float = EPOCH - 9999) -> Pod:
    return a_pod(name, owner=an_owner("ReplicaSet", "web"), created=to_rfc3339(UnixSeconds(created)), node="n")


def at(seconds: float, *views: NodeView) -> Snapshot:
    return a_snapshot(nodes=views, pools=[POOL], taken_at=UnixSeconds(EPOCH + seconds))


def told(book: Book, *looks: Snapshot) -> Book:
    for snapshot in looks:
        book = read_on(book, snapshot, POLICY)
    return book


def outcome(*after: NodeView) -> bool | None:
    """Return whether the command kept its promise when these nodes are left once it is over."""
    begun = at(0, a_node_of("old", web("p"), web("q"), **noted(RECORD)))
    (entry,) = told(Book(), begun, at(60, *after), at(60 + SETTLED_S, *after)).entries
    return entry.kept


def a_replacement(price: float) -> NodeView:
    return a_node_of("new", web("r", EPOCH + 30), price=price, created=EPOCH, **{REPLACEMENT_FOR: "x"})


def test_a_command_is_taken_in_from_its_record_once() -> None:
    begun = at(0, a_node_of("old", web("p"), web("q"), **noted(RECORD)))
    book = told(Book(), begun, begun)
    assert book.past().moves == (PastMove(UnixSeconds(EPOCH), POOL.key, 2),)


def test_the_only_replicas_among_the_moved_pods_are_remembered() -> None:
    alone = a_pod("db", owner=an_owner("StatefulSet", "db"), node="n")
    (move,) = told(Book(), at(0, a_node_of("old", alone, **noted(RECORD)))).past().moves
    assert move.singletons == {an_owner("StatefulSet", "db").uid}


def test_commands_for_other_reasons_are_not_remembered() -> None:
    drifted = CommandRecord(id="y", reason="Drifted", claims=("old",), started_at=EPOCH)
    assert told(Book(), at(0, a_node_of("old", web("p"), **noted(drifted)))).entries == ()


def test_a_command_that_was_given_up_is_forgotten() -> None:
    begun = at(0, a_node_of("old", web("p"), **noted(RECORD)))
    assert told(Book(), begun, at(60, a_node_of("old", web("p")))).entries == ()


def test_a_promise_is_kept_by_a_machine_at_the_planned_price_and_broken_by_a_dearer_one() -> None:
    assert outcome(a_replacement(0.1)) is True
    assert outcome(a_replacement(0.15)) is True
    assert outcome(a_replacement(0.16)) is False


def test_the_book_says_when_the_next_promise_can_be_judged() -> None:
    begun = at(0, a_node_of("old", web("p"), **noted(RECORD)))
    under_way = told(Book(), begun)
    assert under_way.judged_next_at() is None
    gone = told(under_way, at(60, a_replacement(0.1)))
    assert gone.judged_next_at() == EPOCH + 60 + SETTLED_S
    assert told(gone, at(60 + SETTLED_S, a_replacement(0.1))).judged_next_at() is None


def test_a_promise_is_broken_when_the_moved_pods_need_further_machines() -> None:
    stray = a_node_of("stray", web("s", EPOCH + 90), price=0.1, created=EPOCH + 70)
    assert outcome(a_replacement(0.1), stray) is False


def test_a_machine_for_other_pods_breaks_no_promise() -> None:
    other = a_pod("o", owner=an_owner("ReplicaSet", "other"), created=to_rfc3339(UnixSeconds(EPOCH + 80)), node="n")
    assert outcome(a_replacement(0.1), a_node_of("stray", other, price=0.4, created=EPOCH + 70)) is True


def three(prices: tuple[float, float, float]) -> Book:
    book = Book()
    for number, price in enumerate(prices):
        record = msgspec.structs.replace(RECORD, id=f"x{number}", started_at=EPOCH + 1000 * number)
        begun = a_node_of("old", web("p"), **noted(record))
        after = a_replacement(price)
        start = 1000.0 * number
        book = told(book, at(start, begun), at(start + 60, after), at(start + 60 + SETTLED_S, after))
    return book


def test_three_broken_promises_in_a_row_bring_an_hours_rest_and_a_kept_one_starts_anew() -> None:
    assert three((0.2, 0.2, 0.2)).rests_until == EPOCH + 2360 + 3600
    assert three((0.2, 0.1, 0.2)).rests_until is None


def test_what_was_moved_is_forgotten_after_the_longest_interval() -> None:
    book = three((0.1, 0.1, 0.1))
    assert len(book.entries) == 3
    assert told(book, at(3 * 3600)).entries != ()
    assert told(book, at(7 * 3600)).entries == ()


def test_a_spot_node_counts_from_when_it_was_first_seen_and_starts_anew_when_the_price_comes_back() -> None:
    book = watching(Book(), ["a"], UnixSeconds(1))
    book = watching(book, ["a", "b"], UnixSeconds(2))
    assert book.cheaper_since == {"a": 1, "b": 2}
    assert watching(watching(book, ["b"], UnixSeconds(3)), ["a", "b"], UnixSeconds(4)).cheaper_since == {"a": 4, "b": 2}


def test_a_book_survives_being_written_down() -> None:
    book = watching(three((0.2, 0.1, 0.2)), ["a"], UnixSeconds(1))
    assert msgspec.json.decode(msgspec.json.encode(book), type=Book) == book
