"""SQS: the queue that EventBridge fills, and others that somebody makes."""

from __future__ import annotations

import asyncio
import hashlib
import heapq
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from karpenter.sim.ec2.backend import ACCOUNT_ID, Backend, Handler, Params, Result
from karpenter.sim.ec2.codec.messages import AwsError
from karpenter.sim.ec2.eventbus import change_event, notice_event

RETENTION_S: Final = 300.0
"""For how long a message is kept (INT-9)."""
_VISIBILITY_S: Final = 30.0
_MOST_AT_ONCE: Final = 10


@dataclass(slots=True)
class _Message:
    id: str
    body: str
    sent_at: float
    receives: int = 0
    attributes: Mapping[str, Any] = field(default_factory=dict)


class _Queue:
    def __init__(self, name: str) -> None:
        self.name = name
        self.messages: dict[str, _Message] = {}
        self.waiting: dict[str, None] = {}
        """Ids of messages that can be received, in order."""
        self.hidden: list[tuple[float, str]] = []
        """Messages that somebody has received, by when they come back."""
        self.arrived = asyncio.Event()

    def put(self, message: _Message) -> None:
        self.messages[message.id] = message
        self.waiting[message.id] = None
        self.arrived.set()

    def settle(self, now: float) -> None:
        """Bring back what nobody deleted in time, and forget what is too old."""
        while self.hidden and self.hidden[0][0] <= now:
            identity = heapq.heappop(self.hidden)[1]
            if identity in self.messages:
                self.waiting[identity] = None
        while self.messages:
            first = next(iter(self.messages.values()))
            if now - first.sent_at < RETENTION_S:
                return
            self.delete(first.id)

    def delete(self, identity: str) -> None:
        self.messages.pop(identity, None)
        self.waiting.pop(identity, None)


class Queues:
    """The account's queues."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        name = backend.cluster.name
        self._queues = {name: _Queue(name)}
        self._events = name

    def operations(self) -> Mapping[str, Handler]:
        """Return what it answers."""
        return {
            "sqs:CreateQueue": self._create,
            "sqs:DeleteQueue": self._delete_queue,
            "sqs:GetQueueUrl": self._url,
            "sqs:GetQueueAttributes": self._attributes,
            "sqs:SendMessage": self._send,
            "sqs:SendMessageBatch": self._send_batch,
            "sqs:ReceiveMessage": self._receive,
            "sqs:DeleteMessage": self._delete,
            "sqs:DeleteMessageBatch": self._delete_batch,
        }

    async def feed(self) -> None:
        """Put the market's notices and changes of state into the cluster's queue until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._feed_notices())
            group.create_task(self._feed_changes())

    async def _feed_notices(self) -> None:
        async for notice in self._backend.market.notices():
            self._publish(notice_event(self._backend, notice))

    async def _feed_changes(self) -> None:
        async for change in self._backend.market.changes():
            self._publish(change_event(self._backend, change))

    def _publish(self, body: str | None) -> None:
        queue = self._queues.get(self._events)
        if queue is not None and body is not None:
            queue.put(self._message(body))

    def _message(self, body: str, attributes: Mapping[str, Any] | None = None) -> _Message:
        return _Message(self._backend.new_uuid(), body, self._backend.clock.now(), attributes=attributes or {})

    # --- queues -------------------------------------------------------------------------------------------------------

    def _create(self, params: Params) -> Result:
        name = params["QueueName"]
        self._queues.setdefault(name, _Queue(name))
        return {"QueueUrl": self._url_of(name)}

    def _delete_queue(self, params: Params) -> Result:
        del self._queues[self._queue(params).name]
        return {}

    def _url(self, params: Params) -> Result:
        name = params["QueueName"]
        if name not in self._queues:
            raise _no_queue()
        return {"QueueUrl": self._url_of(name)}

    def _url_of(self, name: str) -> str:
        return f"https://sqs.{self._backend.region}.amazonaws.com/{ACCOUNT_ID}/{name}"

    def _queue(self, params: Params) -> _Queue:
        name = str(params["QueueUrl"]).rpartition("/")[2]
        if name not in self._queues:
            raise _no_queue()
        queue = self._queues[name]
        queue.settle(self._backend.clock.now())
        return queue

    def _attributes(self, params: Params) -> Result:
        queue = self._queue(params)
        counts = {
            "ApproximateNumberOfMessages": str(len(queue.waiting)),
            "ApproximateNumberOfMessagesNotVisible": str(len(queue.messages) - len(queue.waiting)),
            "MessageRetentionPeriod": str(int(RETENTION_S)),
            "QueueArn": self._backend.arn("sqs", queue.name),
        }
        wanted = params.get("AttributeNames") or ()
        return {"Attributes": {name: text for name, text in counts.items() if name in wanted or "All" in wanted}}

    # --- messages -----------------------------------------------------------------------------------------------------

    def _send(self, params: Params) -> Result:
        message = self._message(params["MessageBody"], params.get("MessageAttributes"))
        self._queue(params).put(message)
        return {"MessageId": message.id, "MD5OfMessageBody": _md5(message.body)}

    def _send_batch(self, params: Params) -> Result:
        queue, sent = self._queue(params), []
        for entry in params["Entries"]:
            message = self._message(entry["MessageBody"], entry.get("MessageAttributes"))
            queue.put(message)
            sent.append({"Id": entry["Id"], "MessageId": message.id, "MD5OfMessageBody": _md5(message.body)})
        return {"Successful": sent, "Failed": []}

    async def _receive(self, params: Params) -> Result:
        clock = self._backend.clock
        deadline = clock.now() + float(params.get("WaitTimeSeconds") or 0)
        while True:
            queue = self._queue(params)
            if queue.waiting or clock.now() >= deadline:
                return {"Messages": self._take(queue, params)}
            queue.arrived.clear()
            returning = queue.hidden[0][0] if queue.hidden else deadline
            await _first(queue.arrived, clock.sleep(min(deadline, returning) - clock.now()))

    def _take(self, queue: _Queue, params: Params) -> list[Result]:
        now = self._backend.clock.now()
        hidden_s = params.get("VisibilityTimeout")
        until = now + (_VISIBILITY_S if hidden_s is None else float(hidden_s))
        taken = []
        for identity in list(queue.waiting)[: min(int(params.get("MaxNumberOfMessages") or 1), _MOST_AT_ONCE)]:
            del queue.waiting[identity]
            heapq.heappush(queue.hidden, (until, identity))
            message = queue.messages[identity]
            message.receives += 1
            taken.append(_shown(message))
        return taken

    def _delete(self, params: Params) -> Result:
        self._queue(params).delete(_identity(params["ReceiptHandle"]))
        return {}

    def _delete_batch(self, params: Params) -> Result:
        queue = self._queue(params)
        for entry in params["Entries"]:
            queue.delete(_identity(entry["ReceiptHandle"]))
        return {"Successful": [{"Id": entry["Id"]} for entry in params["Entries"]], "Failed": []}


async def _first(arrived: asyncio.Event, sleeping: Awaitable[None]) -> None:
    tasks = {asyncio.ensure_future(arrived.wait()), asyncio.ensure_future(sleeping)}
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


def _shown(message: _Message) -> Result:
    return {
        "MessageId": message.id,
        "ReceiptHandle": f"{message.id}:{message.receives}",
        "Body": message.body,
        "MD5OfBody": _md5(message.body),
        "Attributes": {
            "SentTimestamp": str(int(message.sent_at * 1000)),
            "ApproximateReceiveCount": str(message.receives),
        },
        "MessageAttributes": message.attributes or None,
    }


def _identity(handle: str) -> str:
    return handle.partition(":")[0]


def _md5(body: str) -> str:
    return hashlib.md5(body.encode(), usedforsecurity=False).hexdigest()


def _no_queue() -> AwsError:
    return AwsError(
        "com.amazonaws.sqs#QueueDoesNotExist",
        "The specified queue does not exist.",
        query_code="AWS.SimpleQueueService.NonExistentQueue",
    )
