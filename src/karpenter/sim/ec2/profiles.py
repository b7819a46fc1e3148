"""IAM instance profiles, and the roles that they may hold.

For people's manifests to work as they are, every role and profile exists that they name; only profiles that Karpenter
makes (`<cluster>_<number>`) are there from their creation on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from karpenter.model.aws.tags import tag_list
from karpenter.sim.ec2.backend import Backend, Handler, Params, Result
from karpenter.sim.ec2.codec.messages import AwsError

MISSING: Final = "missing"
"""Roles and profiles whose names have this in them do not exist."""
_CREATED_AT: Final = 1_600_000_000.0


@dataclass(slots=True)
class _Profile:
    name: str
    path: str
    id: str
    created_at: float
    role: str = ""
    tags: dict[str, str] = field(default_factory=dict)


class Profiles:
    """The account's instance profiles."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._made: dict[str, _Profile] = {}

    def operations(self) -> Mapping[str, Handler]:
        """Return what it answers."""
        return {
            "iam:CreateInstanceProfile": self._create,
            "iam:GetInstanceProfile": self._get,
            "iam:ListInstanceProfiles": self._list,
            "iam:DeleteInstanceProfile": self._delete,
            "iam:AddRoleToInstanceProfile": self._add_role,
            "iam:RemoveRoleFromInstanceProfile": self._remove_role,
            "iam:TagInstanceProfile": self._tag,
        }

    def check(self, specification: Params) -> None:
        """Raise AwsError unless the profile of a launch template exists, as EC2 says it."""
        name = str(specification.get("Name") or str(specification.get("Arn", "")).rpartition("/")[2])
        if name and MISSING in name:
            raise AwsError("InvalidParameterValue", f"Value ({name}) for parameter iamInstanceProfile.name is invalid.")

    def _find(self, params: Params) -> _Profile:
        name = params["InstanceProfileName"]
        if name in self._made:
            return self._made[name]
        if MISSING in name or re.fullmatch(rf"{re.escape(self._backend.cluster.name)}_\d+", name):
            raise AwsError("NoSuchEntity", f"Instance Profile {name} cannot be found.", status=404)
        return _Profile(name, "/", "AIPASIMULATEDACCOUNT", _CREATED_AT, role="node")

    def _create(self, params: Params) -> Result:
        name = params["InstanceProfileName"]
        if name in self._made:
            raise AwsError("EntityAlreadyExists", f"Instance Profile {name} already exists.", status=409)
        profile = _Profile(
            name=name,
            path=params.get("Path") or "/",
            id=f"AIPA{self._backend.new_id('p')[3:].upper()}",
            created_at=self._backend.clock.now(),
            tags={tag["Key"]: tag["Value"] for tag in params.get("Tags") or ()},
        )
        self._made[name] = profile
        return {"InstanceProfile": self._shown(profile)}

    def _get(self, params: Params) -> Result:
        return {"InstanceProfile": self._shown(self._find(params))}

    def _list(self, params: Params) -> Result:
        prefix = params.get("PathPrefix") or "/"
        found = [one for one in self._made.values() if one.path.startswith(prefix)]
        return {"InstanceProfiles": [self._shown(one) for one in found], "IsTruncated": False}

    def _delete(self, params: Params) -> Result:
        profile = self._find(params)
        if profile.role:
            raise AwsError(
                "DeleteConflict", "Cannot delete entity, must remove roles from instance profile first.", status=409
            )
        del self._made[profile.name]
        return {}

    def _add_role(self, params: Params) -> Result:
        profile, role = self._find(params), params["RoleName"]
        if MISSING in role:
            raise AwsError("NoSuchEntity", f"The role with name {role} cannot be found.", status=404)
        if profile.role:
            raise AwsError("LimitExceeded", "Cannot exceed quota for InstanceSessionsPerInstanceProfile: 1", status=409)
        profile.role = role
        return {}

    def _remove_role(self, params: Params) -> Result:
        profile = self._find(params)
        if profile.role != params["RoleName"]:
            raise AwsError("NoSuchEntity", f"The role with name {params['RoleName']} cannot be found.", status=404)
        profile.role = ""
        return {}

    def _tag(self, params: Params) -> Result:
        self._find(params).tags.update({tag["Key"]: tag["Value"] for tag in params["Tags"]})
        return {}

    def _shown(self, profile: _Profile) -> Result:
        roles = [self._role(profile.role)] if profile.role else []
        return {
            "InstanceProfileName": profile.name,
            "InstanceProfileId": profile.id,
            "Arn": self._backend.arn("iam", f"instance-profile{profile.path}{profile.name}", region=""),
            "Path": profile.path,
            "CreateDate": profile.created_at,
            "Roles": roles,
            "Tags": tag_list(profile.tags),
        }

    def _role(self, name: str) -> Result:
        return {
            "RoleName": name,
            "RoleId": "AROASIMULATEDACCOUNT",
            "Path": "/",
            "Arn": self._backend.arn("iam", f"role/{name}", region=""),
            "CreateDate": _CREATED_AT,
        }
