"""A cluster to choose nodes in, written down: nodes with what is bound to them, and what else is looked up."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from karpenter.model import core
from karpenter.model.meta import LabelSelector
from karpenter.model.storage import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass
from karpenter.model.units import ObjectKey
from karpenter.sim.kinds import Budget
from karpenter.sim.scheduler.diagnosis import Unschedulable
from karpenter.sim.scheduler.nodeinfo import ClusterCache
from karpenter.sim.scheduler.nominations import Nomination, Nominations
from karpenter.sim.scheduler.podfacts import FactsBook, PodFacts
from karpenter.sim.scheduler.selection import NodeSelection, Placement


@dataclass
class WrittenSurroundings:
    """Lookups over plain mappings."""

    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    claims: Iterable[PersistentVolumeClaim] = ()
    volumes: Iterable[PersistentVolume] = ()
    classes: Iterable[StorageClass] = ()
    csi_nodes: Iterable[CSINode] = ()
    services: Iterable[Mapping[str, str]] = ()
    """Their selectors: pods that one covers are spread by default."""
    pods: Iterable[core.Pod] = ()
    disruption_budgets: Sequence[Budget] = ()
    stamp: int = 0

    def namespace_labels(self, namespace: str) -> Mapping[str, str]:
        return self.namespaces.get(namespace, {})

    def default_selectors(self, pod: PodFacts) -> tuple[LabelSelector, ...]:
        covering = (selector for selector in self.services if selector.items() <= pod.labels.items())
        return tuple(LabelSelector(match_labels=dict(selector)) for selector in covering)

    def pod(self, key: ObjectKey) -> core.Pod | None:
        return next((one for one in self.pods if one.metadata.key == key), None)

    def budgets(self) -> Sequence[Budget]:
        return self.disruption_budgets

    def claim(self, key: ObjectKey) -> PersistentVolumeClaim | None:
        return next((one for one in self.claims if one.metadata.key == key), None)

    def volume(self, name: str) -> PersistentVolume | None:
        return next((one for one in self.volumes if one.metadata.name == name), None)

    def storage_class(self, name: str) -> StorageClass | None:
        return next((one for one in self.classes if one.metadata.name == name), None)

    def csi_node(self, name: str) -> CSINode | None:
        return next((one for one in self.csi_nodes if one.metadata.name == name), None)


class World:
    """Nodes, pods bound to them, and a scheduler's choice for the next pod."""

    def __init__(
        self,
        *nodes: core.Node,
        bound: Iterable[core.Pod] = (),
        surroundings: WrittenSurroundings | None = None,
        seed: int = 0,
        draw: Random | None = None,
    ) -> None:
        self.book = FactsBook()
        self.cache = ClusterCache()
        self.nominations = Nominations()
        for node in nodes:
            self.cache.set_node(node)
        for pod in bound:
            self.bind(pod, pod.spec.node_name)
        self.surroundings = surroundings or WrittenSurroundings()
        self.draw = draw or Random(seed)
        self.selection = NodeSelection(self.cache, self.nominations, self.surroundings, draw=self.draw)

    def bind(self, pod: core.Pod, node: str) -> None:
        self.cache.set_pod(
            pod.metadata.uid,
            self.book.of(pod),
            node,
            priority=pod.spec.priority or 0,
            is_terminating=pod.metadata.is_deleting,
            name=pod.metadata.name,
        )

    def place(self, pod: core.Pod) -> Placement | Unschedulable:
        return self.selection.place(self.book.of(pod), uid=pod.metadata.uid, priority=pod.spec.priority or 0)

    def nominate(self, pod: core.Pod, node: str) -> None:
        self.nominations.set(pod.metadata.uid, Nomination(node, self.book.of(pod), pod.spec.priority or 0))

    def node_for(self, pod: core.Pod) -> str | None:
        """Return the node chosen for a pod; None when there is none."""
        found = self.place(pod)
        return found.node if isinstance(found, Placement) else None

    def why_not(self, pod: core.Pod) -> str:
        """Return the message about a pod that no node takes, the sentence on preemption left out."""
        found = self.place(pod)
        assert isinstance(found, Unschedulable), f"placed on {found.node}"
        return found.message.partition(" preemption: ")[0]

    def fill(self, pods: Iterable[core.Pod]) -> dict[str, str | None]:
        """Place pods one after the other; return the node of each."""
        chosen: dict[str, str | None] = {}
        for pod in pods:
            node = chosen[pod.metadata.name] = self.node_for(pod)
            if node is not None:
                self.bind(pod, node)
        return chosen
