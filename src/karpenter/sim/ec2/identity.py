"""STS: who the caller is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from karpenter.sim.ec2.backend import ACCESS_KEY, ACCOUNT_ID, Backend, Handler, Params, Result

_USER_ID: Final = "AIDASIMULATEDACCOUNT"
_SESSION_S: Final = 3600.0


class Identity:
    """The account's one user, and roles that anybody may assume."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def operations(self) -> Mapping[str, Handler]:
        """Return what it answers."""
        return {
            "sts:GetCallerIdentity": self._caller,
            "sts:AssumeRole": self._assume,
            "sts:AssumeRoleWithWebIdentity": self._assume,
        }

    def _caller(self, _: Params) -> Result:
        arn = self._backend.arn("iam", "user/karpenter", region="")
        return {"UserId": _USER_ID, "Account": ACCOUNT_ID, "Arn": arn}

    def _assume(self, params: Params) -> Result:
        role = str(params["RoleArn"]).rpartition("/")[2]
        session = params["RoleSessionName"]
        arn = self._backend.arn("sts", f"assumed-role/{role}/{session}", region="")
        credentials = {
            "AccessKeyId": ACCESS_KEY,
            "SecretAccessKey": "simulated",
            "SessionToken": "simulated",
            "Expiration": self._backend.clock.now() + float(params.get("DurationSeconds") or _SESSION_S),
        }
        return {
            "Credentials": credentials,
            "AssumedRoleUser": {"AssumedRoleId": f"{_USER_ID}:{session}", "Arn": arn},
        }
