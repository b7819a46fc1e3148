"""Bodies in protobuf: decoded by field numbers into what JSON would have said."""

import struct

import pytest

from karpenter.runtime.kube import BadRequest
from karpenter.sim.apiserver.protobuf import CONTENT_TYPE, decode_body


def varint(number: int) -> bytes:
    number %= 1 << 64
    encoded = b""
    while number > 0x7F:
        encoded += bytes([number & 0x7F | 0x80])
        number >>= 7
    return encoded + bytes([number])


def field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def body(api_version: str, kind: str, *fields: bytes) -> bytes:
    head = field(1, api_version) + field(2, kind)
    return b"k8s\0" + field(1, head) + field(2, b"".join(fields)) + field(3, "") + field(4, "")


def metadata(name: str, *more: bytes) -> bytes:
    """As Go writes it: every field that cannot be absent, empty or not."""
    empty = b"".join(field(number, "") for number in (2, 3, 4, 5, 6))
    return field(1, field(1, name) + empty + field(7, 0) + field(8, b"") + b"".join(more))


def test_a_namespace() -> None:
    assert decode_body(body("v1", "Namespace", metadata("team"), field(2, b""), field(3, field(1, "")))) == {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "team"},
    }


def test_maps_and_bytes() -> None:
    labels = field(11, field(1, "app") + field(2, "web"))
    data = field(2, field(1, "key") + field(2, b"\x00\x01"))
    assert decode_body(body("v1", "Secret", metadata("s", labels), data, field(3, "Opaque"))) == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "labels": {"app": "web"}},
        "data": {"key": "AAE="},
        "type": "Opaque",
    }


def test_a_deployment_keeps_the_zero_that_was_meant() -> None:
    quantity = field(2, field(1, "cpu") + field(2, field(1, "500m")))
    container = (
        field(1, "main")
        + field(2, "app:1")
        + field(8, quantity)
        + field(6, field(3, 80) + field(4, "TCP") + field(2, 0))
    )
    pod = field(2, container) + field(3, "") + field(11, 0) + field(4, 0)
    template = field(3, field(1, b"") + field(2, pod))
    rolling = field(
        4,
        field(1, "RollingUpdate")
        + field(2, field(1, field(1, 1) + field(2, 0) + field(3, "25%")) + field(2, field(1, 0) + field(2, 1))),
    )
    spec = field(1, 0) + field(2, field(1, field(1, "app") + field(2, "web"))) + template + rolling + field(5, 0)
    assert decode_body(body("apps/v1", "Deployment", metadata("web"), field(2, spec)))["spec"] == {
        "replicas": 0,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "spec": {
                "containers": [
                    {
                        "name": "main",
                        "image": "app:1",
                        "resources": {"requests": {"cpu": "500m"}},
                        "ports": [{"containerPort": 80, "protocol": "TCP"}],
                    }
                ],
                "terminationGracePeriodSeconds": 0,
            }
        },
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": 1}},
    }


def test_inlined_parts_lie_flat() -> None:
    volume = field(1, field(1, "tmp") + field(2, field(2, field(1, ""))))
    tree = decode_body(body("v1", "Pod", metadata("p"), field(2, volume)))
    assert tree["spec"]["volumes"] == [{"name": "tmp", "emptyDir": {}}]


def test_numbers_below_zero_times_and_packed_lists() -> None:
    priority = decode_body(body("scheduling.k8s.io/v1", "PriorityClass", metadata("low"), field(2, -10), field(3, 0)))
    assert priority["value"] == -10
    born = field(8, field(1, 1_700_000_000))
    assert decode_body(body("v1", "ConfigMap", field(1, field(1, "c") + born)))["metadata"] == {
        "name": "c",
        "creationTimestamp": "2023-11-14T22:13:20Z",
    }
    groups = field(2, field(14, field(4, varint(1) + varint(2))))
    assert decode_body(body("v1", "Pod", metadata("p"), groups))["spec"]["securityContext"] == {
        "supplementalGroups": [1, 2]
    }


def test_fields_that_the_table_does_not_know_are_skipped() -> None:
    strange = field(900, "new") + varint(901 << 3 | 1) + struct.pack("<d", 1.5) + varint(902 << 3 | 5) + b"abcd"
    assert decode_body(body("v1", "ConfigMap", metadata("c"), strange))["metadata"] == {"name": "c"}


@pytest.mark.parametrize(
    "data",
    [
        b"{}",
        body("v1", "ConfigMap", metadata("c"))[:-20],
        b"k8s\0" + field(1, field(1, "v1") + field(2, "ConfigMap")) + field(2, b"\x0f"),
        body("v1", "ConfigMap", field(1, 7)),
        body("v1", "ConfigMap", field(1, field(1, b"\xff"))),
        body("example.com/v1", "Widget", metadata("w")),
    ],
)
def test_what_cannot_be_read_is_a_bad_request(data) -> None:
    with pytest.raises(BadRequest):
        decode_body(data)


@pytest.mark.real_time
async def test_a_server_takes_protobuf(http) -> None:
    data = body("v1", "Namespace", metadata("team"))
    answer = await http.post("/api/v1/namespaces", data, content_type=CONTENT_TYPE)
    assert (answer.status, answer.body["status"]["phase"]) == (201, "Active")
