"""Log lines: Karpenter's keys (spec v1 §5.5), fields, contexts, sampling, the console form."""

import io
import json
import logging

import pytest

from karpenter.model.units import ObjectKey
from karpenter.runtime import logs


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def configure(clock, stream):
    """Configure logging for one test; called as `configure(level=…)` from inside it, where there is a loop."""
    undo = []

    def call(**options) -> None:
        undo.append(logs.configure(clock, stream, **options))

    yield call
    for restore in undo:
        restore()


def lines(stream: io.StringIO) -> list[dict]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


async def test_a_line_is_json_with_karpenters_keys(configure, stream) -> None:
    configure()
    logs.get("provisioner").info(
        "launched nodeclaim", nodeclaim="default-x", instance_type="m6i.large", zone="us-west-2a"
    )
    assert lines(stream) == [
        {
            "level": "INFO",
            "time": "2023-11-14T22:13:20.000Z",
            "logger": "controller",
            "message": "launched nodeclaim",
            "component": "provisioner",
            "nodeclaim": "default-x",
            "instance-type": "m6i.large",
            "zone": "us-west-2a",
        }
    ]


async def test_the_caller_is_named_at_debug_level_only(configure, stream) -> None:
    configure(level="debug")
    logs.get("x").debug("considered")
    (line,) = lines(stream)
    assert line["caller"].startswith("test_logs.py:")


async def test_lines_below_the_level_are_not_written(configure, stream) -> None:
    configure(level="info")
    logs.get("x").debug("considered")
    assert stream.getvalue() == ""


async def test_values_are_written_as_json_can_say_them(configure, stream) -> None:
    configure()
    logs.get("x").info(
        "found",
        pods=(ObjectKey("web", "api-0"), ObjectKey("", "n1")),
        zones=frozenset({"b", "a"}),
        taken_s=0.25,
        Node={"name": "n1"},
        nothing=None,
        error=ValueError("bad"),
    )
    (line,) = lines(stream)
    assert {key: line[key] for key in ("pods", "zones", "taken", "Node", "nothing", "error")} == {
        "pods": ["web/api-0", "n1"],
        "zones": ["a", "b"],
        "taken": "250ms",
        "Node": {"name": "n1"},
        "nothing": None,
        "error": "bad",
    }


async def test_an_error_comes_with_its_trace(configure, stream) -> None:
    configure(level="error")
    try:
        raise ValueError("bad")
    except ValueError as error:
        logs.get("x").error("reconcile failed", error=error)
    (line,) = lines(stream)
    assert line["error"] == "bad"
    assert line["stacktrace"].endswith("ValueError: bad")


async def test_bound_fields_are_on_every_line_of_the_block_and_none_after(configure, stream) -> None:
    configure()
    log = logs.get("x")
    with logs.bound(controller="disruption"):
        with logs.bound(name="n1"):
            log.info("inner")
        log.info("outer")
    log.info("after")
    assert [(line.get("controller"), line.get("name")) for line in lines(stream)] == [
        ("disruption", "n1"), ("disruption", None), (None, None),
    ]  # fmt: skip


async def test_a_message_may_contain_a_percent_sign(configure, stream) -> None:
    configure()
    logs.get("x").info("10% of nodes")
    assert lines(stream)[0]["message"] == "10% of nodes"


async def test_libraries_are_heard_from_warnings_on_with_their_errors(configure, stream) -> None:
    configure()
    logging.getLogger("aiohttp.access").info("GET /")
    try:
        raise ValueError("bad")
    except ValueError:
        logging.getLogger("aiohttp.server").exception("Error handling request")
    assert [(line["component"], line["error"]) for line in lines(stream)] == [("aiohttp.server", "bad")]


async def test_a_flood_is_sampled_each_second(configure, stream, clock) -> None:
    """Spec v1 §5.5: the first 100 equal messages of a second, then every 100th."""
    configure()
    for _ in range(350):
        logs.get("x").info("flood")
    logs.get("x").info("other")
    await clock.sleep(1)
    logs.get("x").info("flood")
    assert [line["message"] for line in lines(stream)].count("flood") == 100 + 2 + 1
    assert [line["message"] for line in lines(stream)].count("other") == 1


async def test_the_console_form_is_one_short_line(configure, stream) -> None:
    configure(encoding="console")
    logs.get("x").info("launched nodeclaim", nodeclaim="default-x", reason="two words", count=2)
    assert stream.getvalue() == '22:13:20 INFO    launched nodeclaim  nodeclaim=default-x reason="two words" count=2\n'


async def test_the_console_shows_an_errors_message_and_its_trace_only_when_debugging(configure, stream) -> None:
    configure(encoding="console")
    logs.get("x").error("failed", error=ValueError("bad"))
    assert stream.getvalue() == "22:13:20 ERROR   failed  error=bad\n"
    logging.getLogger("karpenter").setLevel(logging.DEBUG)
    logs.get("x").error("failed", error=ValueError("worse"))
    assert stream.getvalue().endswith("ValueError: worse\n")


async def test_what_was_configured_can_be_ended(clock, stream) -> None:
    restore = logs.configure(clock, stream, level="debug")
    restore()
    logs.get("x").warning("nobody listens")
    assert stream.getvalue() == ""
