"""What the demo prints: where things are, and what to type next. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """What a demo that runs has to tell."""

    version: str
    page: str
    """URL of the status page."""
    kubeconfig: Path
    is_restart: bool
    """Whether cluster and cloud were there already."""
    sample: bool
    startup_taints: str
    cloud_speed: float
    data: Path | None = None


def greeting(at: Whereabouts) -> str:
    """Return the text for the terminal."""
    again = "again, with the cluster and the machines it had" if at.is_restart else "in a new cluster"
    kept = f"everything is kept in {at.data}" if at.data else "nothing is kept when it ends (--data FOLDER keeps it)"
    lines = [
        f"Karpenter {at.version} {again}; the cloud is {at.cloud_speed:g} times as fast as a real one.",
        "",
        f"  status      {at.page}",
        f"  kubeconfig  {at.kubeconfig}",
        "",
        "In another terminal:",
        "",
        f"  export KUBECONFIG={at.kubeconfig}",
        *(_with_sample() if at.sample else _without_sample()),
        "",
        *_about_startup_taints(at.startup_taints),
        f"Ctrl-C ends it; {kept}.",
    ]
    return "\n".join(lines)


def _with_sample() -> list[str]:
    return [
        "  kubectl get provisioners,nodeclaims,nodes,pods",
        "  kubectl scale deployment sample --replicas 40      # more nodes",
        "  kubectl get nodeclaims --watch",
        "  kubectl scale deployment sample --replicas 0       # and they go, half a minute after they are empty",
        "  kubectl events",
    ]


def _without_sample() -> list[str]:
    return [
        "  kubectl apply -f POOL.yaml -f WORKLOAD.yaml        # a Provisioner, an AWSNodeTemplate, a Deployment",
        "  kubectl get provisioners,nodeclaims,nodes,pods",
        "  kubectl events",
        "",
        "or end this one and start it with --sample for something to look at.",
    ]


def _about_startup_taints(choice: str) -> list[str]:
    if choice == "auto":
        return []
    return ["Startup taints stay until you remove them: kubectl taint node NAME KEY-", ""]
