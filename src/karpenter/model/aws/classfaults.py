"""What is wrong with a node class whatever the account has. Source: spec v1 A-16, A-32."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from karpenter.model.aws.classstatus import VALIDATED
from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.model.meta import Condition

_TAKE_EVERYTHING: Final = ("AL2023", "Custom")
"""One takes a kubelet's whole configuration, the other is told nothing by us."""


def class_fault(node_class: AwsNodeClass) -> Condition | None:
    """Return the condition of a class whose image family cannot do what its kubelet settings say; None when it can."""
    unknown = node_class.other.get("kubelet")
    fields = sorted(unknown) if isinstance(unknown, Mapping) else []
    if node_class.ami_family in _TAKE_EVERYTHING:
        fields = []
    if node_class.ami_family == "Bottlerocket" and node_class.kubelet and node_class.kubelet.pods_per_core is not None:
        fields = sorted([*fields, "podsPerCore"])
    if not fields:
        return None
    message = (
        f"node class {node_class.name!r}: nodes of family {node_class.ami_family} cannot be told "
        f"{', '.join(f'spec.kubelet.{name}' for name in fields)}; remove it, or use AL2023 images"
    )
    return Condition(VALIDATED, "False", "UnsupportedKubeletConfiguration", message)
