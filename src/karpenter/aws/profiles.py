"""Instance profiles: the user's own, or one made from a role. Source: spec v1 A-13 … A-15; spec v1alpha5 §1.8."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from cachetools import TTLCache

from karpenter.aws.errors import error_code
from karpenter.aws.session import AwsSession, collect
from karpenter.cloud.errors import CloudError
from karpenter.model import labels
from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.model.aws.tags import EKS_CLUSTER, NODE_CLASS, owned_by, tag_list
from karpenter.model.units import UnixSeconds
from karpenter.runtime import logs
from karpenter.runtime.clock import Clock

log = logs.get("aws.profiles")

_REMEMBERED_S: Final = 900.0
_MISSING_ROLE_S: Final = 60.0
_PROTECTED_S: Final = 3600.0
"""How long a new profile is safe from clean-up: a launch may be about to use it (A-14)."""
_MOST_REMEMBERED: Final = 500
_LONGEST_NAME: Final = 128
_MISSING: Final = "NoSuchEntity"
_THERE: Final = "EntityAlreadyExists"


class ProfileError(CloudError):
    """A class has no usable instance profile; `reason` is that of its condition."""

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        super().__init__(message)


class InstanceProfiles:
    """Finds or makes the profile of each node class, and removes those that nothing uses."""

    def __init__(
        self,
        aws: AwsSession,
        clock: Clock,
        *,
        cluster_name: Callable[[], str],
        default_profile: str = "",
        is_isolated: bool = False,
    ) -> None:
        """`default_profile` is for AWSNodeTemplates without one; `is_isolated` tells that IAM cannot be reached."""
        self._aws = aws
        self._clock = clock
        self._cluster_name = cluster_name
        self._default = default_profile
        self._is_isolated = is_isolated
        self._known: TTLCache[str, Mapping[str, Any]] = TTLCache(_MOST_REMEMBERED, _REMEMBERED_S, clock.now)
        self._refused: TTLCache[str, ProfileError] = TTLCache(_MOST_REMEMBERED, _MISSING_ROLE_S, clock.now)
        self._making = asyncio.Lock()
        self._since = clock.now()
        self._given_at: dict[str, UnixSeconds] = {}

    async def profile_of(self, node_class: AwsNodeClass) -> str:
        """Return the name of a class's profile; made if it is given a role and has none yet.

        Raises ProfileError, CloudError.
        """
        if node_class.role:
            return await self._of_role(node_class)
        name = node_class.instance_profile or self._default
        if not name:
            raise ProfileError(
                "InstanceProfileNotFound",
                f"node class {node_class.name!r} names no instance profile; "
                "set spec.instanceProfile, or aws.defaultInstanceProfile for all",
            )
        # Only an EC2NodeClass's: the permissions of v1alpha5 do not let us look.
        if node_class.is_ec2_node_class and not self._is_isolated and await self._find(name) is None:
            raise ProfileError(
                "InstanceProfileNotFound",
                f"instance profile {name!r} does not exist; create it, or give spec.role instead of it",
            )
        return name

    async def _of_role(self, node_class: AwsNodeClass) -> str:
        if self._is_isolated:
            raise ProfileError(
                "InstanceProfileNotFound",
                "spec.role needs IAM, which an isolated VPC does not reach; give spec.instanceProfile instead",
            )
        name = self.name_for(node_class)
        if name in self._refused:
            raise self._refused[name]
        async with self._making:
            found = await self._find(name)
            if found is None or _role_of(found) != _plain(node_class.role):
                await self._make(node_class, name, found)
        self._given_at[name] = self._clock.now()
        return name

    def name_for(self, node_class: AwsNodeClass) -> str:
        """Return the name of the profile that a class's role gets: another role is another profile (A-13)."""
        uid = node_class.metadata.uid or node_class.name
        identity = "/".join((self._aws.region, uid, _plain(node_class.role)))
        number = int.from_bytes(hashlib.sha256(identity.encode()).digest()[:8], "big")
        return f"{self._cluster_name()[: _LONGEST_NAME - 21]}_{number}"

    async def _find(self, name: str) -> Mapping[str, Any] | None:
        if name not in self._known:
            try:
                answer = await self._aws.call("iam", "GetInstanceProfile", InstanceProfileName=name)
            except CloudError as error:
                if error_code(error) == _MISSING:
                    return None
                raise
            self._known[name] = answer["InstanceProfile"]
        return self._known[name]

    async def _make(self, node_class: AwsNodeClass, name: str, found: Mapping[str, Any] | None) -> None:
        """Make a profile and put the role into it; each step may have been done by an earlier, broken attempt."""
        if found is None:
            await self._create(node_class, name)
        elif _role_of(found):
            await self._remove_role(name, _role_of(found))
        self._known.pop(name, None)
        role = _plain(node_class.role)
        try:
            await self._aws.call("iam", "AddRoleToInstanceProfile", InstanceProfileName=name, RoleName=role)
        except CloudError as error:
            if error_code(error) != _MISSING:
                raise
            refused = ProfileError("RoleNotFound", f"role {role!r} does not exist; create it or correct spec.role")
            self._refused[name] = refused
            raise refused from error
        log.info("made an instance profile", instance_profile=name, role=role, node_class=node_class.name)

    async def _create(self, node_class: AwsNodeClass, name: str) -> None:
        cluster = self._cluster_name()
        tags = {
            **node_class.tags,
            **dict([owned_by(cluster)]),
            EKS_CLUSTER: cluster,
            NODE_CLASS: node_class.name,
            labels.REGION: self._aws.region,
        }
        try:
            await self._aws.call(
                "iam",
                "CreateInstanceProfile",
                InstanceProfileName=name,
                Path=self._path(node_class.metadata.uid or node_class.name),
                Tags=tag_list(tags),
            )
        except CloudError as error:
            if error_code(error) != _THERE:
                raise

    def _path(self, of: str = "") -> str:
        return f"/karpenter/{self._aws.region}/{self._cluster_name()}/" + (f"{of}/" if of else "")

    # --- clean-up -----------------------------------------------------------------------------------------------------

    async def delete_of(self, node_class: AwsNodeClass) -> None:
        """Delete all profiles that were made for a class, which goes (A-3). Raises CloudError."""
        if node_class.role and not self._is_isolated:
            for raw in await self._listed(self._path(node_class.metadata.uid or node_class.name)):
                await self._delete(raw)

    async def delete_unused(self, used: Collection[str]) -> None:
        """Delete the cluster's profiles that are older than an hour and that nothing uses (A-14). Raises CloudError.

        `used` are the names of those that machines have. Those of node classes are known: each class is looked at every
        minute. In the first hour of the process nothing is deleted, for not all have been looked at yet.
        """
        now = self._clock.now()
        if self._is_isolated or now - self._since < _PROTECTED_S:
            return
        given = {name for name, at in self._given_at.items() if now - at < _PROTECTED_S}
        for raw in await self._listed(self._path()):
            age_s = now - raw["CreateDate"].timestamp()
            if raw["InstanceProfileName"] not in {*used, *given} and age_s >= _PROTECTED_S:
                await self._delete(raw)

    async def _listed(self, path: str) -> list[Any]:
        operation = ("iam", "ListInstanceProfiles")
        found = await collect(self._aws, operation, "InstanceProfiles", cursor="Marker", PathPrefix=path)
        # What is deleted by it must not rest on the filter alone.
        return [raw for raw in found if raw["Path"].startswith(path)]

    async def _delete(self, raw: Mapping[str, Any]) -> None:
        name = raw["InstanceProfileName"]
        self._known.pop(name, None)
        self._given_at.pop(name, None)
        try:
            for role in raw["Roles"]:
                await self._remove_role(name, role["RoleName"])
            await self._aws.call("iam", "DeleteInstanceProfile", InstanceProfileName=name)
        except CloudError as error:
            if error_code(error) != _MISSING:
                raise
        log.info("deleted an instance profile", instance_profile=name)

    async def _remove_role(self, name: str, role: str) -> None:
        await self._aws.call("iam", "RemoveRoleFromInstanceProfile", InstanceProfileName=name, RoleName=role)


def _role_of(profile: Mapping[str, Any]) -> str:
    return next((str(role["RoleName"]) for role in profile["Roles"]), "")


def _plain(role: str) -> str:
    """Return a role's name without its path: IAM takes no other."""
    return role.rpartition("/")[2]
