"""What a claim remembers of its command: spec v1 D-32, vector V32."""

from dataclasses import replace

import msgspec
import pytest

from karpenter.disruption.records import CommandRecord, encode_record, record_of, record_on, time_limit_s
from karpenter.disruption.verdict import Command
from karpenter.model.labels import DISRUPTION_COMMAND
from karpenter.model.nodeclaim import NodeClaim
from karpenter.model.units import UnixSeconds
from tests.builders import EPOCH, a_claim

RECORD = CommandRecord(
    id="0a1b2c3d", reason="Drifted", claims=("c1", "c2"), replacements=("default-0a1b2c3d-0",), started_at=EPOCH
)


def carrying(text: str) -> NodeClaim:
    claim = a_claim("c1")
    return replace(claim, metadata=msgspec.structs.replace(claim.metadata, annotations={DISRUPTION_COMMAND: text}))


def test_a_record_is_read_back_as_it_was_written() -> None:
    assert record_on(carrying(encode_record(RECORD))) == RECORD


@pytest.mark.parametrize("text", ["", "{}", "null", '{"id": 1}', "somebody else's"])
def test_what_cannot_be_read_is_no_command(text: str) -> None:
    assert record_on(carrying(text)) is None


def test_another_moment_or_another_node_makes_another_command() -> None:
    command = Command("Drifted", ("n",))
    ids = {
        record_of(command, [a_claim(name)], UnixSeconds(now)).id
        for name in ("c1", "c2")
        for now in (EPOCH, EPOCH + 0.5)
    }
    assert len(ids) == 4


@pytest.mark.parametrize("queued,seconds", [(5, 600), (10_000, 800), (100_000, 3600)])
def test_v32_a_command_may_take_longer_the_more_are_waiting(queued: int, seconds: float) -> None:
    assert time_limit_s(queued) == seconds
