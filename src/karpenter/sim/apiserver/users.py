"""Who sends a request: the administrator, or a service account with a token that this server made."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from karpenter.model.units import ObjectKey, UnixSeconds, to_rfc3339
from karpenter.runtime.kube import NotFound, Unauthorized
from karpenter.runtime.kubememory import MemoryStore
from karpenter.runtime.kubememory.refusals import Causes
from karpenter.runtime.kubememory.resources import ApiResource

_MASTERS: Final = "system:masters"
_EVERYBODY: Final = "system:authenticated"
_HEADER: Final = {"alg": "HS256", "typ": "JWT"}
_USUAL_S: Final = 3600
_SHORTEST_S: Final = 600
_REQUEST: Final = ApiResource("authentication.k8s.io", "v1", "tokenrequests", "TokenRequest")


@dataclass(frozen=True, slots=True)
class User:
    """Somebody the server knows."""

    name: str
    groups: tuple[str, ...]
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def may_everything(self) -> bool:
        """Return whether no role has to be looked at."""
        return _MASTERS in self.groups

    def info(self) -> dict[str, Any]:
        """Return what a SelfSubjectReview tells."""
        told: dict[str, Any] = {
            "username": self.name,
            "uid": self.uid,
            "groups": self.groups,
            "extra": dict(self.extra),
        }
        return {key: value for key, value in told.items() if value}


ADMINISTRATOR: Final = User("kubernetes-admin", (_MASTERS, _EVERYBODY))


class _Claims(msgspec.Struct):
    """What a token says."""

    sub: str
    exp: int
    uid: str
    jti: str


class Tokens:
    """The tokens of the administrator and of service accounts; those are JSON web tokens signed with the former."""

    def __init__(self, store: MemoryStore, secret: str) -> None:
        self._store = store
        self._admin = f"Bearer {secret}".encode()
        self._key = hashlib.sha256(b"service accounts" + secret.encode()).digest()

    def user_of(self, authorization: str) -> User:
        """Return who shows a header. Raises Unauthorized."""
        if hmac.compare_digest(authorization.encode(), self._admin):
            return ADMINISTRATOR
        claims = self._read(authorization.removeprefix("Bearer "))
        if claims is None or claims.exp <= self._store.now():
            raise Unauthorized("Unauthorized")
        _, _, namespace, name = claims.sub.split(":")
        try:
            account = self._store.get(self._accounts(), ObjectKey(namespace, name))
        except NotFound:
            raise Unauthorized("Unauthorized") from None
        if account.uid != claims.uid:
            raise Unauthorized("Unauthorized")
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", _EVERYBODY)
        extra = (("authentication.kubernetes.io/credential-id", (f"JTI={claims.jti}",)),)
        return User(claims.sub, groups, claims.uid, extra)

    def issue(self, account: ObjectKey, request: dict[str, Any]) -> dict[str, Any]:
        """Answer a TokenRequest for a service account. Raises NotFound, Invalid."""
        found = self._store.get(self._accounts(), account)
        spec = request.get("spec") or {}
        lasts_s = int(spec.get("expirationSeconds") or _USUAL_S)
        if lasts_s < _SHORTEST_S:
            causes = Causes()
            causes.invalid("spec.expirationSeconds", lasts_s, "may not specify a duration less than 10 minutes")
            causes.raise_for(_REQUEST, account.name)
        ends = int(self._store.now()) + lasts_s
        subject = f"system:serviceaccount:{account.namespace}:{account.name}"
        token = self._sign(_Claims(subject, ends, found.uid, secrets.token_hex(16)))
        status = {"token": token, "expirationTimestamp": to_rfc3339(UnixSeconds(ends))}
        metadata = {"name": account.name, "namespace": account.namespace}
        return {
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": metadata,
            "spec": {"audiences": spec.get("audiences") or ["karpenter"], "expirationSeconds": lasts_s},
            "status": status,
        }

    def _accounts(self) -> ApiResource:
        return self._store.registry.find("", "v1", "serviceaccounts")

    def _sign(self, claims: _Claims) -> str:
        body = f"{_encoded(msgspec.json.encode(_HEADER))}.{_encoded(msgspec.json.encode(claims))}"
        return f"{body}.{_encoded(self._signature(body))}"

    def _read(self, token: str) -> _Claims | None:
        body, _, signature = token.rpartition(".")
        try:
            given = base64.urlsafe_b64decode(signature + "==")
            if not hmac.compare_digest(given, self._signature(body)):
                return None
            return msgspec.json.decode(base64.urlsafe_b64decode(body.partition(".")[2] + "=="), type=_Claims)
        except (binascii.Error, ValueError, msgspec.MsgspecError):
            return None

    def _signature(self, body: str) -> bytes:
        return hmac.new(self._key, body.encode(), hashlib.sha256).digest()


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
