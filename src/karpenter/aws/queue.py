"""The queue of interruption notices: received, read, acted on, deleted. Source: spec v1alpha5 §5.7, spec v1 A-53."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Final

from karpenter.aws.errors import error_code
from karpenter.aws.session import AwsSession
from karpenter.cloud.errors import CloudError
from karpenter.model.aws.notices import Notice, UnreadableError, read_notices
from karpenter.runtime import logs
from karpenter.runtime.clock import Clock

log = logs.get("aws.interruption")

AT_ONCE: Final = 10
"""Messages received and deleted together."""
_WAIT_S: Final = 20
_HIDDEN_S: Final = 20
"""A message that is not deleted comes back after this."""
_GONE: Final = frozenset({"AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist"})


class InterruptionQueue:
    """One SQS queue, named in the settings."""

    def __init__(self, aws: AwsSession, clock: Clock, *, name: str) -> None:
        self._aws = aws
        self._clock = clock
        self._name = name
        self._url = ""

    async def notices(self) -> AsyncGenerator[Notice, None]:
        """Yield what messages say, for ever.

        A message is deleted once all that it says was taken and asked beyond; one that says nothing, or cannot be
        read, at once. Raises CloudError, after which it may be asked again; a queue that is missing is looked up anew.
        """
        while True:
            messages = await self._receive()
            done: list[Mapping[str, Any]] = []
            try:
                for message in messages:
                    for notice in self._read(message):
                        yield notice
                    done.append(message)
            finally:
                await self._delete(done)

    async def _receive(self) -> Sequence[Mapping[str, Any]]:
        url = await self._find()
        try:
            answer = await self._aws.call(
                "sqs",
                "ReceiveMessage",
                QueueUrl=url,
                MaxNumberOfMessages=AT_ONCE,
                VisibilityTimeout=_HIDDEN_S,
                WaitTimeSeconds=_WAIT_S,
            )
        except CloudError as error:
            raise self._explained(error) from error
        messages: Sequence[Mapping[str, Any]] = answer.get("Messages", ())
        return messages

    async def _find(self) -> str:
        if not self._url:
            try:
                answer = await self._aws.call("sqs", "GetQueueUrl", QueueName=self._name)
            except CloudError as error:
                raise self._explained(error) from error
            self._url = str(answer["QueueUrl"])
        return self._url

    def _explained(self, error: CloudError) -> CloudError:
        if error_code(error) not in _GONE:
            return error
        self._url = ""
        return CloudError(
            f"the interruption queue {self._name!r} is not there; create it, or unset aws.interruptionQueueName"
        )

    def _read(self, message: Mapping[str, Any]) -> Sequence[Notice]:
        body = str(message.get("Body", ""))
        try:
            found = read_notices(body, self._clock.now())
        except UnreadableError as error:
            log.error("cannot read a message of the interruption queue, deleting it", body=body[:200], error=error)
            return ()
        if not found:
            log.debug("a message of the interruption queue says nothing about machines", body=body[:200])
        return found

    async def _delete(self, messages: Sequence[Mapping[str, Any]]) -> None:
        if not messages:
            return
        entries = [
            {"Id": str(number), "ReceiptHandle": message["ReceiptHandle"]} for number, message in enumerate(messages)
        ]
        await self._aws.call("sqs", "DeleteMessageBatch", QueueUrl=self._url, Entries=entries)
