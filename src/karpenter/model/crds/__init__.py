"""The schemas of our kinds, as CustomResourceDefinitions that an API server takes.

Lives here: one YAML file a kind, with the rules that a schema can say. Never here: rules of more than one field; the
codecs have them all, and accept and reject the same manifests.
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
