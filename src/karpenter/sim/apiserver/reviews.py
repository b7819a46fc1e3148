"""Who am I, and may I?"""

from __future__ import annotations

from typing import Any, Final

from aiohttp import web

from karpenter.sim.apiserver.access import OPEN_PATHS, PUBLIC_PATHS, Access, Attempt
from karpenter.sim.apiserver.answers import answer
from karpenter.sim.apiserver.queries import read_object
from karpenter.sim.apiserver.users import User

_QUESTIONS: Final = ("selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews")


def is_review(path: str) -> bool:
    """Return whether a path is that of a question about the caller."""
    return path.rpartition("/")[2] in _QUESTIONS


async def review(request: web.Request, user: User, access: Access) -> web.Response:
    """Answer the question in a body."""
    body = await read_object(request)
    match request.path.rpartition("/")[2]:
        case "selfsubjectreviews":
            status: dict[str, Any] = {"userInfo": user.info()}
        case "selfsubjectaccessreviews":
            status = {"allowed": _may(body.get("spec") or {}, user, access)}
        case _:
            status = _rules(user, access, namespace=(body.get("spec") or {}).get("namespace", ""))
    return answer(body | {"status": status}, status=201)


def _may(spec: dict[str, Any], user: User, access: Access) -> bool:
    if asked := spec.get("resourceAttributes"):
        resource = "/".join(part for part in (asked.get("resource", ""), asked.get("subresource", "")) if part)
        attempt = Attempt(
            asked.get("verb", ""), asked.get("group", ""), resource, asked.get("namespace", ""), asked.get("name", "")
        )
        return access.allows(user, attempt)
    path = (spec.get("nonResourceAttributes") or {}).get("path", "")
    return user.may_everything or any(path == one or path.startswith(one[:-1]) for one in OPEN_PATHS if one[-1] == "*")


def _rules(user: User, access: Access, *, namespace: str) -> dict[str, Any]:
    resources = list(access.rules(user, namespace))
    others: list[dict[str, Any]] = [
        {"verbs": ["get"], "nonResourceURLs": [path]} for path in (*OPEN_PATHS, *PUBLIC_PATHS)
    ]
    if user.may_everything:
        resources.insert(0, {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]})
        others.insert(0, {"verbs": ["*"], "nonResourceURLs": ["*"]})
    return {"resourceRules": resources, "nonResourceRules": others, "incomplete": False}
