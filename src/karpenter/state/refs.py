"""How events point at our objects."""

from __future__ import annotations

from karpenter.model.core import Node, Pod
from karpenter.model.nodeclaim import NodeClaim
from karpenter.model.nodepool import NodePool
from karpenter.runtime.events import ObjectRef


def claim_ref(claim: NodeClaim) -> ObjectRef:
    """Return the reference to a claim."""
    return ObjectRef("karpenter.sh/v1", "NodeClaim", claim.name, uid=claim.metadata.uid)


def node_ref(node: Node) -> ObjectRef:
    """Return the reference to a node."""
    return ObjectRef("v1", "Node", node.metadata.name, uid=node.metadata.uid)


def pool_ref(pool: NodePool) -> ObjectRef:
    """Return the reference to a pool, as the object that it was decoded from."""
    origin = pool.origin
    return ObjectRef(origin.api_version, origin.kind, origin.name, uid=origin.uid)


def pod_ref(pod: Pod) -> ObjectRef:
    """Return the reference to a pod."""
    return ObjectRef("v1", "Pod", pod.metadata.name, pod.metadata.namespace, uid=pod.metadata.uid)
