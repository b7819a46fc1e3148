"""The front desk of the account: who may call, how often, what goes wrong, and who answers."""

from __future__ import annotations

import inspect
from collections import Counter
from typing import Final

from karpenter.sim.ec2.backend import Backend, Handler, Params, Result, refuse_dry_run
from karpenter.sim.ec2.codec.messages import AwsError, Call
from karpenter.sim.ec2.identity import Identity
from karpenter.sim.ec2.images import Images
from karpenter.sim.ec2.network import Network
from karpenter.sim.ec2.throttling import Throttles
from karpenter.sim.ec2.types import InstanceTypes

_BAD_KEY: Final = {
    "ec2": ("AuthFailure", "AWS was not able to validate the provided access credentials", 401),
    "query": ("InvalidClientTokenId", "The security token included in the request is invalid.", 403),
    "json": ("UnrecognizedClientException", "The security token included in the request is invalid.", 400),
    "rest-json": ("UnrecognizedClientException", "The security token included in the request is invalid.", 403),
}
"""How each protocol refuses an unknown access key: code, message, status."""


class Desk:
    """Takes calls for one account. Belongs to the market's event loop."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.calls: Counter[tuple[str, str, str]] = Counter()
        """How often what was called: service, operation, and the error's code or `ok`."""
        self._throttles = Throttles(backend.clock.now)
        self._handlers: dict[str, Handler] = {}
        network, types, images = Network(backend), InstanceTypes(backend), Images(backend)
        for part in (network, types, images, Identity(backend)):
            self._handlers |= part.operations()

    async def answer(self, call: Call, protocol: str) -> Result:
        """Return what an operation answers. Raises AwsError."""
        try:
            result = await self._answer(call, protocol)
        except AwsError as error:
            self.calls[call.service, call.operation, error.code] += 1
            raise
        self.calls[call.service, call.operation, "ok"] += 1
        return result

    async def _answer(self, call: Call, protocol: str) -> Result:
        if call.caller is not None and call.caller.access_key not in self._backend.access_keys:
            code, message, status = _BAD_KEY[protocol]
            raise AwsError(code, message, status=status)
        self._throttles.take(call.service, call.operation)
        handler = self._handlers.get(f"{call.service}:{call.operation}")
        if handler is None:
            raise AwsError("InvalidAction", f"{call.service}:{call.operation} is not simulated")
        result = await _outcome(handler, call.params)
        refuse_dry_run(call.params)  # a read has no effect to refuse; others refuse before they have one
        return result


async def _outcome(handler: Handler, params: Params) -> Result:
    answer = handler(params)
    return await answer if inspect.isawaitable(answer) else answer
