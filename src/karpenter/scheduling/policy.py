"""The objective and the rails of every plan, as one frozen value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from karpenter.model.core import TopologySpreadConstraint

PreferencePolicy = Literal["Respect", "Ignore"]
MinValuesPolicy = Literal["Strict", "BestEffort"]


@dataclass(frozen=True, slots=True)
class Policy:
    """What a good plan is, beside being valid. Printed in every explanation; the lower bound is computed under it."""

    node_fee: float = 0.01
    """USD per hour added for every node, so that fewer nodes win among equal prices."""
    preferences: PreferencePolicy = "Respect"
    waived: frozenset[str] = frozenset()
    """Single preferences that are not heeded, in the words of `Level.given_up`."""
    max_pods_per_node: int = 110
    """Cap beside what the instance type and the kubelet allow."""
    rails: bool = True
    """False is pure price: no cap of `max_pods_per_node`, and none of the rails of later steps."""
    default_spread: tuple[TopologySpreadConstraint, ...] = ()
    """Spread constraints of pods that state none of their own but belong to a Service or a workload (S-38)."""
    min_values: MinValuesPolicy = "Strict"
    """Whether machines that cannot keep a pool's minValues are not launched, or launched with fewer (S-45)."""
    expendable_priority: int | None = None
    """Pods below it use room that is there, but no machine is launched for them; None means that all are worth one."""

    def is_expendable(self, priority: int) -> bool:
        """Return whether pods of this priority are not worth a machine."""
        return self.expendable_priority is not None and priority < self.expendable_priority


@dataclass(frozen=True, slots=True)
class Options:
    """How `solve` works: the policy, and how much effort it may spend."""

    policy: Policy = Policy()
    rounds: int = 20
    """Effort beyond the first answer, about 1 CPU-s for 10,000 varied pods; 0 is the first answer. Equal rounds give
    equal plans; problems that are solved earlier end earlier."""
    max_nodes: int | None = None
    """How many nodes one solve may launch at most, over all pools; None for any number."""
    max_instance_types: int = 600
    """How many types a claim lists at most."""
