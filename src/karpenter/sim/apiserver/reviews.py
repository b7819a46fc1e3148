"""Who am I, and may I? Everybody who has the token is the one administrator, who may everything."""

from __future__ import annotations

from typing import Any, Final

from aiohttp import web

from karpenter.sim.apiserver.answers import answer
from karpenter.sim.apiserver.queries import read_object

USER: Final = {"username": "kubernetes-admin", "groups": ["system:masters", "system:authenticated"]}
_RULES: Final = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}
_STATUS: Final[dict[str, Any]] = {
    "selfsubjectaccessreviews": {"allowed": True, "reason": "the one user of this cluster may everything"},
    "selfsubjectrulesreviews": _RULES,
    "selfsubjectreviews": {"userInfo": USER},
}


def is_review(path: str) -> bool:
    """Return whether a path is that of a question about the caller."""
    return path.rpartition("/")[2] in _STATUS


async def review(request: web.Request) -> web.Response:
    """Answer the question in a body."""
    body = await read_object(request)
    return answer(body | {"status": _STATUS[request.path.rpartition("/")[2]]}, status=201)
