"""The settings of the policy: what a good plan is."""

from __future__ import annotations

from typing import Final, get_args

from karpenter.app.forms import (
    AMOUNT,
    DURATION,
    FILL,
    PERFORMANCE,
    POSITIVE,
    PRIORITY,
    RATIO,
    SHARE,
    SHARE_OR_OFF,
    SWITCH,
    Setting,
    choice,
)
from karpenter.app.spreadform import DEFAULT_SPREAD
from karpenter.scheduling.policy import BalanceFormula, MinValuesPolicy, PreferencePolicy

POLICY_SETTINGS: Final[tuple[Setting, ...]] = (
    Setting(
        "policy.nodeFee",
        "node_fee",
        AMOUNT,
        "USD per hour that every node counts on top of its price, so that fewer nodes win among equal prices.",
    ),
    Setting(
        "policy.preferences",
        "preferences",
        choice(*get_args(PreferencePolicy)),
        "Whether preferred affinities and the like are heeded while that is possible, or not at all.",
        variable="PREFERENCE_POLICY",
    ),
    Setting(
        "policy.maxPodsPerNode",
        "max_pods_per_node",
        POSITIVE,
        "Most pods planned for one node, beside what type and kubelet allow; without effect when the rails are off.",
    ),
    Setting(
        "policy.rails",
        "rails",
        SWITCH,
        "Off plans for price alone: nothing but the pods' and the pools' own rules limits a node.",
    ),
    Setting(
        "policy.expendablePriority",
        "expendable_priority",
        PRIORITY,
        "Pods of lower priority use room that there is, but no machine is launched for them.",
    ),
    Setting(
        "policy.movePrice",
        "move_price",
        AMOUNT,
        "USD per hour that every pod moved by consolidation has to be worth.",
    ),
    Setting(
        "policy.carefulMoveFactor",
        "careful_move_factor",
        AMOUNT,
        "Times the price of a move for a pod with a volume, or of a workload of one replica.",
    ),
    Setting(
        "policy.fill",
        "fill",
        FILL,
        "Share of a node's room that is planned for; `auto` leaves room as far as binding trials pay.",
    ),
    Setting(
        "policy.largestNode",
        "size.vcpu",
        POSITIVE,
        "Most vCPU of a node, unless a pod needs more.",
    ),
    Setting(
        "policy.largestNodeLeast",
        "size.least_vcpu",
        POSITIVE,
        "A small pool's nodes may be this large in any case, in vCPU.",
    ),
    Setting(
        "policy.largestNodeShare",
        "size.share",
        SHARE,
        "Between these two: most of a pool's cpu requests that one node is planned to hold.",
    ),
    Setting(
        "policy.metal",
        "size.metal",
        SWITCH,
        "Whether bare metal is planned like any other type; otherwise only if nothing else fits.",
    ),
    Setting(
        "policy.onDemandRatio",
        "flexibility.on_demand_ratio",
        RATIO,
        "An on-demand claim lists types that cost up to this multiple of the planned one.",
    ),
    Setting(
        "policy.spotRatio",
        "flexibility.spot_ratio",
        RATIO,
        "A spot claim lists types up to this multiple of the planned price.",
    ),
    Setting(
        "policy.spotTypes",
        "flexibility.spot_types",
        POSITIVE,
        "How many types a spot claim is wanted to list.",
    ),
    Setting(
        "policy.spotShare",
        "flexibility.spot_share",
        SHARE,
        "Most of a pool's spot nodes that are planned of one type in one zone.",
    ),
    Setting(
        "policy.spotShareFrom",
        "flexibility.spot_share_from",
        POSITIVE,
        "From how many spot nodes of a pool on that holds.",
    ),
    Setting(
        "policy.zoneShareOfThree",
        "zones.of_three",
        SHARE,
        "Most of a pool's vCPU that is planned for one zone, where there are three or more.",
    ),
    Setting(
        "policy.zoneShareOfTwo",
        "zones.of_two",
        SHARE,
        "The same where there are two.",
    ),
    Setting(
        "policy.zoneMostCost",
        "zones.most_cost",
        AMOUNT,
        "Share of the price beyond which zones are not levelled.",
    ),
    Setting(
        "policy.workloadShare",
        "workload_share",
        SHARE_OR_OFF,
        "Most of one workload's replicas planned for one node, as a share; one is always allowed.",
    ),
    Setting(
        "policy.performance",
        "performance",
        PERFORMANCE,
        "Speed of a vCPU by instance family, such as `c7g=1.3,m5=0.8`; machines are then compared by price and speed.",
    ),
    Setting(
        "policy.defaultSpread",
        "default_spread",
        DEFAULT_SPREAD,
        "Spread constraints of pods that state none of their own and belong to a Service or a workload, as in the "
        "scheduler's configuration: `podTopologySpread.defaultConstraints`.",
        variable="SCHEDULER_CONFIG",
    ),
    Setting(
        "policy.minValues",
        "min_values",
        choice(*get_args(MinValuesPolicy)),
        "Whether machines that cannot keep a pool's minValues are not launched, or launched with fewer.",
        variable="MIN_VALUES_POLICY",
    ),
    Setting(
        "policy.reservations",
        "reservations",
        SWITCH,
        "Whether machines are planned into capacity reservations that node classes select.",
    ),
    Setting(
        "policy.spotToSpot",
        "spot_to_spot",
        SWITCH,
        "Whether consolidation swaps one spot machine for a cheaper one, where `policy.spotTypes` types are cheaper.",
    ),
    Setting(
        "policy.balance",
        "balance",
        choice(*get_args(BalanceFormula)),
        "How pools that say `Balanced` count what a consolidation disturbs: pods and nodes, as Karpenter does, or pods "
        "only, as its design says.",
    ),
    Setting(
        "policy.saving",
        "churn.saving",
        AMOUNT,
        "USD per hour that a consolidation saves at least.",
    ),
    Setting(
        "policy.savingShare",
        "churn.saving_share",
        SHARE,
        "Share of the price it touches that a consolidation saves at least.",
    ),
    Setting(
        "policy.leastAge",
        "churn.least_age_s",
        DURATION,
        "Nodes younger than this are not consolidated.",
    ),
    Setting(
        "policy.movedPods",
        "churn.pods",
        POSITIVE,
        "Pods of a pool that consolidation may move within an hour, or those of one node if that is more.",
    ),
    Setting(
        "policy.movedPodsShare",
        "churn.pods_share",
        SHARE,
        "The same as a share of the pool's pods; the larger one counts.",
    ),
    Setting(
        "policy.singletonInterval",
        "churn.singleton_interval_s",
        DURATION,
        "A workload of one replica is moved by consolidation at most once in so long.",
    ),
    Setting(
        "policy.spotChange",
        "churn.spot_change",
        AMOUNT,
        "Share by which a spot price has to change before consolidation follows it.",
    ),
    Setting(
        "policy.spotChangeFor",
        "churn.spot_change_s",
        DURATION,
        "How long the spot price has to stay changed for that.",
    ),
    Setting(
        "policy.settled",
        "churn.settled_s",
        DURATION,
        "A machine of another type than planned is not replaced for its price within so long.",
    ),
    Setting(
        "policy.keptShare",
        "churn.kept_share",
        SHARE,
        "A consolidation keeps its promise when it realises this share of the saving it stated.",
    ),
    Setting(
        "policy.brokenPromises",
        "churn.broken_promises",
        POSITIVE,
        "So many consolidations in a row that do not keep it stop voluntary moves for a while.",
    ),
    Setting(
        "policy.rest",
        "churn.rest_s",
        DURATION,
        "How long they then stop.",
    ),
)
