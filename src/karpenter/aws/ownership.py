"""Which instance is whose: known from launches of this process, from tags of instances, and found again after a crash.

An instance that was launched alone is tagged with its claim by the launch itself. Of several that one fleet launched
EC2 tags all alike; each gets its claim's tags a little later, one call a second. What a crash leaves between has no
claim and is ended by garbage collection.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final, NamedTuple

from karpenter.aws.instances import Machine, Machines
from karpenter.cloud.errors import CloudError, InstanceNotFoundError
from karpenter.model.aws.tags import CLAIM, CLAIM_UID
from karpenter.model.nodeclaim import NodeClaim
from karpenter.runtime import logs
from karpenter.runtime.clock import Clock

log = logs.get("aws.ownership")

TAG_EVERY_S: Final = 1.0
"""Between calls of CreateTags (spec v1 A-47)."""
_MOST_REMEMBERED: Final = 20_000


class Owner(NamedTuple):
    """The claim of an instance."""

    name: str
    uid: str


class Ownership:
    """Remembers whose instances are, and writes it down."""

    def __init__(self, machines: Machines, clock: Clock) -> None:
        self._machines = machines
        self._clock = clock
        self._owners: dict[str, Owner] = {}
        self._of_earlier_life: dict[str, Machine] | None = None
        self._doubtful: set[str] = set()
        self._untagged: deque[str] = deque()
        self._looking = asyncio.Lock()

    def owner_of(self, machine: Machine) -> Owner | None:
        """Return the claim of an instance; None when nobody knows."""
        if CLAIM_UID in machine.tags:
            return Owner(machine.tags.get(CLAIM, ""), machine.tags[CLAIM_UID])
        return self._owners.get(machine.id)

    def launched(self, instance_id: str, claim: NodeClaim, *, is_tagged: bool) -> None:
        """Note what was launched for a claim."""
        if len(self._owners) >= _MOST_REMEMBERED:
            del self._owners[next(iter(self._owners))]
        self._owners[instance_id] = Owner(claim.name, uid_of(claim))
        if not is_tagged:
            self._untagged.append(instance_id)

    def doubt(self, claim: NodeClaim) -> None:
        """Note that a launch failed in a way that does not tell whether there is an instance."""
        self._doubtful.add(uid_of(claim))

    async def find(self, claim: NodeClaim) -> Machine | None:
        """Return the instance that was launched for a claim, as far as this process does not know it already.

        That is one of an earlier process, or one whose launch's answer was lost. Raises CloudError.
        """
        uid = uid_of(claim)
        async with self._looking:  # after a start many claims ask at once
            if self._of_earlier_life is None:
                found = await self._machines.list()
                self._of_earlier_life = {one.tags[CLAIM_UID]: one for one in found if CLAIM_UID in one.tags}
            elif uid in self._doubtful:
                found = await self._machines.list({CLAIM_UID: uid})
                self._of_earlier_life.update((uid, one) for one in found)
                self._doubtful.discard(uid)
            machine = self._of_earlier_life.pop(uid, None)
        return None if machine is None or machine.state == "shutting-down" else machine

    async def run(self) -> None:
        """Tag instances until cancelled."""
        while True:
            await self._clock.sleep(TAG_EVERY_S)
            if self._untagged:
                await self._tag(self._untagged.popleft())

    async def _tag(self, instance_id: str) -> None:
        owner = self._owners.get(instance_id)
        if owner is None:
            return
        try:
            await self._machines.tag(instance_id, {CLAIM: owner.name, CLAIM_UID: owner.uid})
        except InstanceNotFoundError:
            log.debug("instance is gone before it was tagged", instance_id=instance_id)
        except CloudError as error:
            log.warning("cannot tag an instance, trying again", instance_id=instance_id, error=error)
            self._untagged.append(instance_id)


def uid_of(claim: NodeClaim) -> str:
    """Return what tells a claim from others of its name."""
    return claim.metadata.uid or claim.name
