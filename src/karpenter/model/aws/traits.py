"""What every cloud with EC2's machines has in common."""

from __future__ import annotations

from typing import Final

from karpenter.model import labels
from karpenter.model.instance import RepairPolicy

NODE_CLASS_KINDS: Final = ((labels.AWS_GROUP, "AWSNodeTemplate"), (labels.AWS_GROUP, "EC2NodeClass"))
"""API group and kind; the first is the default."""
REPAIR_POLICIES: Final = (
    RepairPolicy("Ready", "False", 1800.0),
    RepairPolicy("Ready", "Unknown", 1800.0),
    RepairPolicy("AcceleratedHardwareReady", "False", 600.0),
    *(
        RepairPolicy(condition, "False", 1800.0)
        for condition in ("StorageReady", "NetworkingReady", "KernelReady", "ContainerRuntimeReady")
    ),
)
"""Spec v1 A-52."""
