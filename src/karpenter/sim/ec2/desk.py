"""The front desk of the account: who may call, how often, what goes wrong, and who answers."""

from __future__ import annotations

import inspect
from collections import Counter
from typing import Final

from karpenter.sim.ec2.backend import Backend, Handler, Params, Result, refuse_dry_run
from karpenter.sim.ec2.clusters import Clusters
from karpenter.sim.ec2.codec.messages import AwsError, Call
from karpenter.sim.ec2.fleets import Fleets
from karpenter.sim.ec2.identity import Identity
from karpenter.sim.ec2.images import Images
from karpenter.sim.ec2.instances import Instances
from karpenter.sim.ec2.network import Network
from karpenter.sim.ec2.pools import Pools
from karpenter.sim.ec2.pricing import PriceList
from karpenter.sim.ec2.profiles import Profiles
from karpenter.sim.ec2.queues import Queues
from karpenter.sim.ec2.templates import Templates
from karpenter.sim.ec2.throttling import Throttles
from karpenter.sim.ec2.types import InstanceTypes
from karpenter.sim.market.faults import Fault, FaultKind

_BAD_KEY: Final = {
    "ec2": ("AuthFailure", "AWS was not able to validate the provided access credentials", 401),
    "query": ("InvalidClientTokenId", "The security token included in the request is invalid.", 403),
    "json": ("UnrecognizedClientException", "The security token included in the request is invalid.", 400),
    "rest-json": ("UnrecognizedClientException", "The security token included in the request is invalid.", 403),
}
"""How each protocol refuses an unknown access key: code, message, status."""
_DENIED: Final = {
    "ec2": "UnauthorizedOperation",
    "query": "AccessDenied",
    "json": "AccessDeniedException",
    "rest-json": "AccessDeniedException",
}
_THROTTLED: Final = {
    "ec2": "RequestLimitExceeded",
    "query": "Throttling",
    "json": "ThrottlingException",
    "rest-json": "ThrottlingException",
}
_FAULT_NAMES: Final = {
    "CreateFleet": ("create",),
    "TerminateInstances": ("delete",),
    "DescribeInstances": ("get", "list"),
    "DescribeInstanceTypes": ("instance_types",),
}
"""What the faults of the simulated cloud call an operation besides its own name."""


class Desk:
    """Takes calls for one account. Belongs to the market's event loop."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.calls: Counter[tuple[str, str, str]] = Counter()
        """How often what was called: service, operation, and the error's code or `ok`."""
        self._throttles = Throttles(backend.clock.now)
        self._queues = Queues(backend)
        self._handlers: dict[str, Handler] = _ec2(backend)
        for part in (Identity(backend), Clusters(backend), PriceList(backend), self._queues):
            self._handlers |= part.operations()

    async def run(self) -> None:
        """Do what the account does by itself, until cancelled."""
        await self._queues.feed()

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
        if f"{call.service}:{call.operation}" in self._backend.denied:
            raise _denied(call, protocol)
        self._throttles.take(call.service, call.operation)
        handler = self._handlers.get(f"{call.service}:{call.operation}")
        if handler is None:
            raise AwsError("InvalidAction", f"{call.service}:{call.operation} is not simulated")
        names = (call.operation, *_FAULT_NAMES.get(call.operation, ()))
        faults = {fault.kind: fault for fault in self._backend.market.take_faults(*names)}
        await self._meet(faults, call, protocol)
        result = await _outcome(handler, call.params)
        if FaultKind.LOST_REPLY in faults:
            raise _failure(faults[FaultKind.LOST_REPLY])
        refuse_dry_run(call.params)  # a read has no effect to refuse; others refuse before they have one
        return result

    async def _meet(self, faults: dict[FaultKind, Fault], call: Call, protocol: str) -> None:
        """Let the faults happen that come before an operation has its effect."""
        if FaultKind.SLOW in faults:
            await self._backend.clock.sleep(faults[FaultKind.SLOW].seconds)
        if FaultKind.THROTTLE in faults:
            raise AwsError(_THROTTLED[protocol], "Request limit exceeded.", status=503 if protocol == "ec2" else 400)
        if FaultKind.UNAUTHORIZED in faults:
            raise _denied(call, protocol)
        if FaultKind.ERROR in faults:
            raise _failure(faults[FaultKind.ERROR])


def _ec2(backend: Backend) -> dict[str, Handler]:
    """Return the operations of EC2 and of what its launches need."""
    network, types, images = Network(backend), InstanceTypes(backend), Images(backend)
    templates, profiles = Templates(backend), Profiles(backend)
    pools = Pools(backend, templates=templates, types=types, images=images, network=network, profiles=profiles)
    handlers: dict[str, Handler] = {}
    parts = (network, types, images, templates, profiles, Fleets(backend, pools), Instances(backend, templates))
    for part in parts:
        handlers |= part.operations()
    return handlers


def _denied(call: Call, protocol: str) -> AwsError:
    message = f"You are not authorized to perform this operation: {call.service}:{call.operation}"
    return AwsError(_DENIED[protocol], message, status=400 if protocol == "json" else 403)


def _failure(fault: Fault) -> AwsError:
    return AwsError(fault.code, "simulated fault", status=500 if fault.code == "InternalError" else 400)


async def _outcome(handler: Handler, params: Params) -> Result:
    answer = handler(params)
    return await answer if inspect.isawaitable(answer) else answer
