"""The objective and the rails of every plan, as one frozen value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from karpenter.model.core import TopologySpreadConstraint

PreferencePolicy = Literal["Respect", "Ignore"]
MinValuesPolicy = Literal["Strict", "BestEffort"]
BalanceFormula = Literal["shipped", "design"]


@dataclass(frozen=True, slots=True)
class SizeRails:
    """How large one node may be planned, unless a pod needs more."""

    vcpu: int = 64
    """Never more vCPU than this …"""
    least_vcpu: int = 16
    """… and never a cap below this."""
    share: float = 0.10
    """Between the two: this share of the cpu that the pool is asked for, what runs and what waits together."""
    metal: bool = False
    """Whether bare metal is planned like any other type; otherwise only if nothing else fits."""


@dataclass(frozen=True, slots=True)
class FlexibilityRails:
    """How many types a claim leaves the cloud to choose from, and how much dearer they may be."""

    on_demand_ratio: float = 1.2
    """On-demand claims list the types that hold the pods and cost at most this multiple of the planned one."""
    spot_ratio: float = 1.5
    spot_types: int = 15
    """How many spot types are wanted: the list goes up to `spot_ratio` to reach them."""
    spot_share: float = 0.25
    """Most of a pool's spot nodes that one type in one zone may make up …"""
    spot_share_from: int = 8
    """… once the pool has so many of them."""


@dataclass(frozen=True, slots=True)
class ZoneRails:
    """How much of a pool's vCPU one zone may hold, if levelling costs little."""

    of_three: float = 0.45
    """Where three zones or more can be had."""
    of_two: float = 0.60
    most_cost: float = 0.02
    """Share of the price that levelling may cost; beyond it the cheaper zones win."""


@dataclass(frozen=True, slots=True)
class ChurnRails:
    """What has to speak for a voluntary move; they bind consolidation only, never drift, expiration, interruption."""

    saving_share: float = 0.05
    """A command saves at least this share of the price it touches …"""
    saving: float = 0.02
    """… and at least so many USD per hour."""
    least_age_s: float = 900.0
    """Younger nodes stay."""
    pods_share: float = 0.10
    """Pods moved within an hour: at most this share of the pool's, or …"""
    pods: int = 10
    """… so many, or those of one node, whichever is most."""
    singleton_interval_s: float = 6 * 3600.0
    """A workload of one replica is moved at most once in so long."""
    spot_change: float = 0.20
    """A spot price that has fallen moves nobody unless by this share …"""
    spot_change_s: float = 1800.0
    """… for so long."""
    settled_s: float = 3600.0
    """A machine of another type than planned is not replaced for its price within so long."""
    kept_share: float = 0.5
    """A command keeps its promise when it realises this share of the saving it stated."""
    broken_promises: int = 3
    """So many commands in a row that do not keep it stop voluntary moves …"""
    rest_s: float = 3600.0
    """… for so long."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What a good plan is, beside being valid. Printed in every explanation; the lower bound is computed under it."""

    node_fee: float = 0.01
    """USD per hour added for every node, so that fewer nodes win among equal prices."""
    move_price: float = 0.01
    """USD per hour that a moved pod has to be worth …"""
    careful_move_factor: float = 3.0
    """… times this with a volume, or for a workload of one replica."""
    reservations: bool = True
    """Whether machines are planned into capacity reservations that node classes select (S-52)."""
    spot_to_spot: bool = True
    """Whether consolidation swaps one spot machine for a cheaper one, where enough types are cheaper."""
    balance: BalanceFormula = "shipped"
    """Whether pools that say `Balanced` count a node beside its pods, as Karpenter does, or pods only, as that policy's
    design does."""
    fill: float | None = None
    """Share of a node's room that is planned for; None fills all of it, and less only as far as the binding trials make
    the expected price lower."""
    preferences: PreferencePolicy = "Respect"
    waived: frozenset[str] = frozenset()
    """Single preferences that are not heeded, in the words of `Level.given_up`."""
    max_pods_per_node: int = 110
    """Cap beside what the instance type and the kubelet allow."""
    rails: bool = True
    """False is pure price: no cap of `max_pods_per_node`, and none of the rails below, nor any slack."""
    size: SizeRails = SizeRails()
    flexibility: FlexibilityRails = FlexibilityRails()
    zones: ZoneRails = ZoneRails()
    churn: ChurnRails = ChurnRails()
    workload_share: float | None = None
    """Most of one workload's replicas that one node may hold, as a share, but always one; None for any number."""
    performance: tuple[tuple[str, float], ...] = ()
    """Speed of a vCPU by instance family, 1.0 for those not named: machines are then compared by price per vCPU and
    speed. Empty compares prices as they are."""
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
    """Effort beyond the first answer, about 1 CPU-s for 10,000 varied pods; 0 is the first answer, without binding
    trials. Equal rounds give equal plans; problems that are solved earlier end earlier."""
    max_nodes: int | None = None
    """How many nodes one solve may launch at most, over all pools; None for any number."""
    max_instance_types: int = 600
    """How many types a claim lists at most."""
