"""What the embedded cluster does otherwise than a real one, by name: the table in docs/embedded-cluster.md.

A step of a scenario that names one of these has to differ, in just these words; a step that names none must not.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Difference:
    """One behaviour."""

    behaviour: str
    embedded: str
    real: str
    embedded_says: str
    """What the step's outcome contains on the embedded cluster."""
    real_says: str


DIFFERENCES: dict[str, Difference] = {
    "token volumes": Difference(
        "The volume with a service account's token in every pod, and the ConfigMap `kube-root-ca.crt`",
        "none: there is no container to read them",
        "mounted into every container",
        "Volumes:  <none>",
        "kube-api-access-",
    ),
    "logs": Difference(
        "`kubectl logs`, `exec`, `attach`, `port-forward`",
        "refused: there are no containers",
        "what the container says",
        "this cluster is simulated",
        "",
    ),
    "explanations": Difference(
        "`kubectl explain` of Kubernetes' own kinds",
        "fields and types; custom kinds with their descriptions too",
        "with descriptions",
        "<empty>",
        "",
    ),
    "endpoints": Difference(
        "EndpointSlices of Services", "served, but nobody writes them", "one for each Service", "<none>", ""
    ),
    "horizontal autoscalers": Difference(
        "HorizontalPodAutoscaler", "not served", "scales by usage", "", "horizontalpodautoscaler"
    ),
    "words of the scheduler": Difference(
        "The message of a pod that fits nowhere",
        "without what dynamic resources have to say",
        "`no new claims to deallocate` among the rest",
        "didn't match Pod's node affinity/selector. preemption",
        "no new claims to deallocate",
    ),
    "pods that are terminating": Difference(
        "`status.terminatingReplicas` of Deployments and ReplicaSets", "absent, as before 1.33", "a count", "", "0"
    ),
    "unreadable bodies": Difference(
        "Words about a body that is no JSON or no object",
        "our decoder's",
        "Go's",
        "the body of the request",
        "parse error",
    ),
    "immutable claims": Difference(
        "Words about a change to a claim's spec", "what may be changed", "the change as well", "(status 1)", "@@"
    ),
    "provider ids": Difference(
        "`spec.providerID` of nodes", "that of a machine of the simulated cloud", "what the cloud says", "aws:///", ""
    ),
}


def table() -> str:
    """Return the rows of the table in the documentation."""
    rows = [f"| {one.behaviour} | {one.embedded} | {one.real} |" for one in DIFFERENCES.values()]
    return "\n".join(["| Behaviour | Embedded | Real |", "| --- | --- | --- |", *rows])
