"""Who may do what: the rules of roles, for everybody but the administrator. Source: kubernetes.io, RBAC."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from karpenter.model.units import ObjectKey
from karpenter.runtime.kube import Forbidden, NotFound, RawObject
from karpenter.runtime.kubememory import MemoryStore
from karpenter.sim.apiserver.users import User

_GROUP: Final = "rbac.authorization.k8s.io"
_ALL: Final = "*"
EVERYBODYS_RULES: Final[tuple[RawObject, ...]] = (
    {"verbs": ["create"], "apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"]},
    {
        "verbs": ["create"],
        "apiGroups": ["authorization.k8s.io"],
        "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
    },
)
"""What whoever is known may do."""
PUBLIC_PATHS: Final = ("/healthz", "/livez", "/readyz", "/version", "/version/")
"""What anybody may read; those who are known are told so twice, as by a real server."""
OPEN_PATHS: Final = (
    "/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz", "/version",
    "/version/",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Attempt:
    """What somebody wants to do."""

    verb: str
    group: str
    resource: str
    """With its subresource: `pods/log`."""
    namespace: str = ""
    name: str = ""


class Access:
    """Asks the roles of a store."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def check(self, user: User, attempt: Attempt) -> None:
        """Raise Forbidden, in the words of a real server, when somebody may not do that."""
        if self.allows(user, attempt):
            return
        place = f'in the namespace "{attempt.namespace}"' if attempt.namespace else "at the cluster scope"
        kind = attempt.resource.partition("/")[0] + (f".{attempt.group}" if attempt.group else "")
        subject = f'{kind} "{attempt.name}"' if attempt.name else kind
        details = {"name": attempt.name, "group": attempt.group, "kind": attempt.resource.partition("/")[0]}
        raise Forbidden(
            f'{subject} is forbidden: User "{user.name}" cannot {attempt.verb} resource "{attempt.resource}" in API '
            f'group "{attempt.group}" {place}',
            details={key: value for key, value in details.items() if value},
        )

    def allows(self, user: User, attempt: Attempt) -> bool:
        """Return whether somebody may do that."""
        return user.may_everything or any(_covers(rule, attempt) for rule in self.rules(user, attempt.namespace))

    def rules(self, user: User, namespace: str) -> Iterator[RawObject]:
        """Yield the rules that hold for somebody in a namespace, or for what has none."""
        yield from EVERYBODYS_RULES
        for binding in self._objects("clusterrolebindings"):
            yield from self._of(binding, user)
        for binding in self._objects("rolebindings") if namespace else ():
            if binding["metadata"]["namespace"] == namespace:
                yield from self._of(binding, user)

    def _of(self, binding: RawObject, user: User) -> Iterator[RawObject]:
        namespace = binding["metadata"].get("namespace", "")
        if not any(_means(subject, user) for subject in binding.get("subjects") or ()):
            return
        role = binding["roleRef"]
        place = namespace if role["kind"] == "Role" else ""
        resource = self._store.registry.find(_GROUP, "v1", f"{role['kind'].lower()}s")
        try:
            found = self._store.get(resource, ObjectKey(place, role["name"]))
        except NotFound:
            return
        yield from found.decode().get("rules") or ()

    def _objects(self, plural: str) -> Iterator[RawObject]:
        for record in self._store.list(self._store.registry.find(_GROUP, "v1", plural)):
            yield record.decode()


def _means(subject: dict[str, Any], user: User) -> bool:
    match subject.get("kind"):
        case "User":
            return bool(subject["name"] == user.name)
        case "Group":
            return subject["name"] in user.groups
        case "ServiceAccount":
            return f"system:serviceaccount:{subject.get('namespace', '')}:{subject['name']}" == user.name
    return False


def _covers(rule: RawObject, attempt: Attempt) -> bool:
    subresource = attempt.resource.partition("/")[2]
    resources = {_ALL, attempt.resource, *((f"*/{subresource}",) if subresource else ())}
    names = rule.get("resourceNames") or ()
    return (
        bool({_ALL, attempt.verb} & set(rule.get("verbs") or ()))
        and bool({_ALL, attempt.group} & set(rule.get("apiGroups") or ()))
        and bool(resources & set(rule.get("resources") or ()))
        and (not names or attempt.name in names)
    )
