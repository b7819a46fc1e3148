"""The schemas of our kinds, as CustomResourceDefinitions that an API server takes.

Lives here: one YAML file a kind, with the rules that OpenAPI and CEL can say within an API server's budget; for that
maps and lists have limits (1,000 labels) beyond what anybody writes. Never here: what needs comparing quantities, two
lists with each other, or fields of an open object; the codecs have all rules, and refuse the same manifests.
"""

from __future__ import annotations

from importlib import resources
from typing import Any, Final

import msgspec

FILES: Final = (
    "karpenter.sh_provisioners.yaml",
    "karpenter.sh_nodepools.yaml",
    "karpenter.sh_nodeclaims.yaml",
    "karpenter.k8s.aws_awsnodetemplates.yaml",
    "karpenter.k8s.aws_ec2nodeclasses.yaml",
)


def load() -> tuple[dict[str, Any], ...]:
    """Return the definitions as decoded YAML, pools first."""
    folder = resources.files(__name__)
    return tuple(msgspec.yaml.decode(folder.joinpath(name).read_bytes(), type=dict[str, Any]) for name in FILES)
