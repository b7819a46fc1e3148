"""Every metric we have, in one table: Karpenter's names, labels and meanings, so that its dashboards work.

    metrics.nodeclaims_created_total.labels(reason="provisioned", nodepool="default", min_values_relaxed="false").inc()

Source: spec v1 §5.3. A metric is named after its attribute, with `karpenter_` before it unless said otherwise.
"""

from __future__ import annotations

from typing import Final

from karpenter.model import labels
from karpenter.runtime.instruments import FEW_DURATION_BUCKETS, Instruments, counter, gauge, histogram, summary


def label_name(key: str) -> str:
    """Return the metric label of a node label: what follows the slash, with underscores."""
    return key.rpartition("/")[2].replace("-", "_")


WELL_KNOWN: Final = tuple(sorted(label_name(key) for key in labels.WELL_KNOWN))
"""One metric label per well-known node label, in this order (spec v1 §5.3, `nodes_*`)."""

_DISRUPTED: Final = ("reason", "nodepool", "capacity_type", "consolidation_policy", "termination_mode")
_PER_NODE: Final = ("resource_type", "node_name", "phase", "managed", *WELL_KNOWN)
_DECISION: Final = ("decision", "reason", "consolidation_type")
_SCORED: Final = ("decision", "nodepool", "policy")
_OFFERING: Final = ("instance_type", "capacity_type", "zone")
_POD_STATE: Final = (
    "name", "namespace", "owner", "node", "nodepool", "zone", "arch", "capacity_type", "instance_type", "phase",
    "scheduled", "ready", "managed",
)  # fmt: skip


def _powers_of_two(last: int) -> tuple[float, ...]:
    return tuple(2.0**exponent for exponent in range(last + 1))


_QUEUE_BUCKETS: Final = tuple(1e-8 * 10.0**exponent for exponent in range(12))


class Metrics(Instruments):
    """The process's metrics. Make one, hand it to whoever counts, `render()` it for `/metrics`."""

    build_info = gauge("Always 1; identifies the build.", "version", "goversion", "goarch", "commit")

    nodeclaims_created_total = counter("NodeClaims created.", "reason", "nodepool", "min_values_relaxed")
    nodeclaims_terminated_total = counter("NodeClaims gone.", "nodepool", "capacity_type", "zone")
    nodeclaims_disrupted_total = counter("NodeClaims that Karpenter decided to delete.", *_DISRUPTED)
    nodeclaims_unhealthy_disrupted_total = counter(
        "NodeClaims deleted because their node was broken.", "condition", "nodepool", "capacity_type", "image_id"
    )
    nodeclaims_termination_duration_seconds = histogram(
        "From the deletion request of a NodeClaim until it is gone.", "nodepool", buckets=_powers_of_two(11)
    )
    nodeclaims_instance_termination_duration_seconds = histogram(
        "From the cloud's acceptance of a deletion until the instance is gone.", "nodepool", buckets=_powers_of_two(10)
    )

    nodes_created_total = counter("Nodes registered.", "nodepool", "zone")
    nodes_terminated_total = counter("Nodes gone.", "nodepool", "zone")
    nodes_termination_duration_seconds = summary("From the deletion request of a node until it is gone.", "nodepool")
    nodes_lifetime_duration_seconds = histogram("Age of nodes when they went.", "nodepool")
    nodes_drained_total = counter("Nodes that were drained.", "nodepool")
    nodes_allocatable = gauge("What pods can have of a node.", *_PER_NODE)
    nodes_total_pod_requests = gauge("Requests of the pods on a node.", *_PER_NODE)
    nodes_total_pod_limits = gauge("Limits of the pods on a node.", *_PER_NODE)
    nodes_total_daemon_requests = gauge("Requests of the DaemonSet pods on a node.", *_PER_NODE)
    nodes_total_daemon_limits = gauge("Limits of the DaemonSet pods on a node.", *_PER_NODE)
    nodes_system_overhead = gauge("Capacity of a node less what pods can have.", *_PER_NODE)
    nodes_current_lifetime_seconds = gauge("Age of a node.", *_PER_NODE[1:])
    cluster_utilization_percent = gauge("Requests over allocatable, all nodes together.", "resource_type")

    nodepools_limit = gauge("Configured limit of a pool.", "resource_type", "nodepool")
    nodepools_usage = gauge("Current usage of a pool.", "resource_type", "nodepool")
    nodepools_allowed_disruptions = gauge("How many nodes budgets allow to disrupt now.", "nodepool", "reason")
    nodepools_nodes_consuming_budgets = gauge("How many nodes use up budgets.", "nodepool", "reason")
    nodepools_cost_total = gauge("Hourly price of a pool's nodes, in USD.", "nodepool")
    nodepools_cost_tracker_errors_total = counter("Prices that could not be found.", "nodepool")

    pods_state = gauge("1 per pod; the labels say where it is and how it does.", *_POD_STATE)
    pods_startup_duration_seconds = summary("From a pod's creation until it runs.")
    pods_bound_duration_seconds = histogram("From a pod's creation until it is bound.")
    pods_unstarted_time_seconds = gauge("Age of a pod that does not run yet.", "name", "namespace")
    pods_unbound_time_seconds = gauge("Age of a pod that is not bound yet.", "name", "namespace")
    pods_provisioning_bound_duration_seconds = histogram("From the first placement of a pod until it is bound.")
    pods_provisioning_startup_duration_seconds = histogram("From the first placement of a pod until it runs.")
    pods_provisioning_unbound_time_seconds = gauge(
        "Time since the first placement of a pod that is not bound yet.", "name", "namespace"
    )
    pods_provisioning_unstarted_time_seconds = gauge(
        "Time since the first placement of a pod that does not run yet.", "name", "namespace"
    )
    pods_provisioning_scheduling_undecided_time_seconds = gauge(
        "Time since a pod was seen for which nothing is decided yet.", "name", "namespace"
    )
    pods_scheduling_decision_duration_seconds = histogram("From seeing a pod to the first decision on it.")
    pods_eviction_requests_total = counter("Evictions asked for, by the answer's HTTP code.", "code")
    pods_drained_total = counter("Pods evicted or deleted by force.", "reason")

    scheduler_scheduling_duration_seconds = histogram("One scheduling simulation.", "controller")
    scheduler_queue_depth = gauge("Pods left in a running simulation.", "controller", "scheduling_id")
    scheduler_unfinished_work_seconds = gauge("Age of a running simulation.", "controller", "scheduling_id")
    scheduler_ignored_pods_count = gauge("Pods that cannot be considered, such as for a missing volume claim.")
    scheduler_unschedulable_pods_count = gauge("Pods that no place was found for.", "controller")
    scheduler_pending_pods_by_effective_zone_count = gauge("Pending pods by zone.", "controller", "zone")

    voluntary_disruption_decision_evaluation_duration_seconds = histogram(
        "One evaluation of one method.", "reason", "consolidation_type"
    )
    voluntary_disruption_decisions_total = counter("Commands started.", *_DECISION)
    voluntary_disruption_decisions_by_nodepool_total = counter("Commands started, by pool.", *_DECISION, "nodepool")
    voluntary_disruption_eligible_nodes = gauge("Candidates of a method.", "reason")
    voluntary_disruption_consolidation_timeouts_total = counter("Searches cut short.", "consolidation_type")
    voluntary_disruption_failed_validations_total = counter("Candidates that validation refused.", "consolidation_type")
    voluntary_disruption_queue_failures_total = counter("Replacements that never became ready.", *_DECISION)

    consolidation_score = histogram(
        "What a move saves over what it disturbs, as a pool sees it that says Balanced.",
        *_SCORED,
        buckets=(0.1, 0.25, 0.33, 0.5, 1, 2, 5, 10),
    )
    consolidation_moves_total = counter("Moves that pools were asked about which say Balanced.", *_SCORED)

    interruption_received_messages_total = counter("Notices about machines.", "message_type")

    cluster_state_node_count = gauge("Nodes in the cluster state.")
    cluster_state_synced = gauge("1 while the cluster state is complete.")
    cluster_state_unsynced_time_seconds = gauge("For how long the cluster state has been incomplete.")

    cloudprovider_duration_seconds = histogram("Calls to the cloud.", "controller", "method", "provider")
    cloudprovider_errors_total = counter("Calls that failed.", "controller", "method", "provider", "error")
    cloudprovider_instance_type_cpu_cores = gauge("vCPUs of an instance type.", "instance_type")
    cloudprovider_instance_type_memory_bytes = gauge("Memory of an instance type.", "instance_type")
    cloudprovider_instance_type_offering_available = gauge("1 if an offering can be had.", *_OFFERING)
    cloudprovider_instance_type_offering_price_estimate = gauge("Hourly price of an offering, in USD.", *_OFFERING)

    aws_requests_total = counter("Calls of AWS; `code` is 200 or the error's.", "service", "operation", "code")
    aws_request_duration_seconds = histogram("How long calls of AWS took, retries included.", "service", "operation")

    controller_runtime_reconcile_total = counter("Reconciles.", "controller", "result", prefix="")
    controller_runtime_reconcile_errors_total = counter("Reconciles that failed.", "controller", prefix="")
    controller_runtime_terminal_reconcile_errors_total = counter("Errors not retried.", "controller", prefix="")
    controller_runtime_reconcile_time_seconds = histogram(
        "Reconciles.", "controller", buckets=FEW_DURATION_BUCKETS, prefix=""
    )
    controller_runtime_max_concurrent_reconciles = gauge("Workers.", "controller", prefix="")
    controller_runtime_active_workers = gauge("Workers that are busy.", "controller", prefix="")

    workqueue_depth = gauge("Keys that wait.", "name", "controller", prefix="")
    workqueue_adds_total = counter("Keys added.", "name", "controller", prefix="")
    workqueue_retries_total = counter("Retries.", "name", "controller", prefix="")
    workqueue_queue_duration_seconds = histogram(
        "For how long keys waited.", "name", "controller", buckets=_QUEUE_BUCKETS, prefix=""
    )
    workqueue_work_duration_seconds = histogram(
        "For how long keys were handled.", "name", "controller", buckets=_QUEUE_BUCKETS, prefix=""
    )

    client_go_request_total = counter("Requests to the API server.", "code", "method", prefix="")
    client_go_request_duration_seconds = histogram(
        "Requests to the API server.", "verb", "group", "version", "kind", "subresource", prefix=""
    )
    leader_election_master_status = gauge("1 while this process leads.", "name", prefix="")

    informer_handler_errors_total = counter("Handlers of watch events that failed: bugs.", "kind")
    events_dropped_total = counter("Events that were not written.", "cause")
    event_loop_lag_seconds = histogram("By how much the event loop woke up late.")
