"""All objects of a cluster together: which classes there will be, and which pool names which."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from karpenter.model import labels
from karpenter.model.aws.ec2nodeclass import KIND as CLASS_KIND
from karpenter.model.aws.ec2nodeclass import decode_ec2_node_class
from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.model.aws.nodetemplate import decode_aws_node_template, inline_node_class
from karpenter.model.convert.nodeclasses import Profile, node_class_manifest
from karpenter.model.convert.nodepools import node_pool_manifest
from karpenter.model.convert.notes import Note, Notebook
from karpenter.model.errors import ManifestError
from karpenter.model.nodepool import KubeletConfiguration, NodeClassRef, NodePool
from karpenter.model.v1 import decode_nodepool
from karpenter.model.v1alpha5 import decode_provisioner

RawObject = Mapping[str, Any]

_GONE_FROM_KUBELET: Final = "containerRuntime"


@dataclass(frozen=True, slots=True)
class Conversion:
    """Manifests to apply, classes first, and what to know before doing so."""

    manifests: tuple[dict[str, Any], ...]
    notes: tuple[Note, ...]

    @property
    def is_whole(self) -> bool:
        """Whether every object was converted."""
        return all(note.level != "refused" for note in self.notes)


def convert(
    provisioners: Sequence[RawObject],
    templates: Sequence[RawObject],
    *,
    profile: Profile = Profile(),  # noqa: B008 - frozen
    adopts: bool = True,
) -> Conversion:
    """Return the NodePools and EC2NodeClasses that say what Provisioners and AWSNodeTemplates say.

    `adopts` marks each NodePool as the heir of its Provisioner: the controllers hand the nodes over. An object that
    cannot be converted is refused in a note; the others are converted all the same.

    Raises:
        ManifestError: an object is not valid where it comes from.
    """
    work = _Work(profile, {_name(raw): _Template.of(raw) for raw in templates})
    pools = [_Pool.of(raw) for raw in provisioners]
    references = [work.class_of(pool) for pool in pools]
    work.add_unused()
    for pool, reference in zip(pools, references, strict=True):
        notes = Notebook(f"Provisioner {pool.pool.name}")
        manifest = node_pool_manifest(pool.raw, pool.pool, node_class=reference, adopts=adopts, notes=notes)
        work.give_out(manifest, notes, check=decode_nodepool)
    return Conversion(tuple(work.manifests), tuple(dict.fromkeys(work.notes)))


def _name(raw: RawObject) -> str:
    return str((raw.get("metadata") or {}).get("name") or "")


@dataclass(frozen=True, slots=True)
class _Template:
    spec: Mapping[str, Any]
    meant: AwsNodeClass

    @classmethod
    def of(cls, raw: RawObject) -> _Template:
        return cls(raw.get("spec") or {}, decode_aws_node_template(raw))


@dataclass(frozen=True, slots=True)
class _Pool:
    raw: RawObject
    pool: NodePool

    @classmethod
    def of(cls, raw: RawObject) -> _Pool:
        return cls(raw, decode_provisioner(raw)[0])

    @property
    def kubelet(self) -> KubeletConfiguration | None:
        """The settings that a class can hold; None when there are none."""
        found = replace(self.pool.kubelet or KubeletConfiguration(), container_runtime=None)
        return None if found == KubeletConfiguration() else found

    @property
    def written_kubelet(self) -> dict[str, Any] | None:
        if self.kubelet is None:
            return None
        written = dict(self.raw["spec"]["kubeletConfiguration"])
        written.pop(_GONE_FROM_KUBELET, None)
        if self.kubelet.eviction_max_pod_grace_period_s is not None:
            written["evictionMaxPodGracePeriod"] = self.kubelet.eviction_max_pod_grace_period_s
        return written


@dataclass(slots=True)
class _Work:
    profile: Profile
    templates: Mapping[str, _Template]
    manifests: list[dict[str, Any]] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    _made: list[tuple[str, KubeletConfiguration | None, str]] = field(default_factory=list)
    """Template, kubelet settings and name of each class there is."""

    def class_of(self, pool: _Pool) -> NodeClassRef:
        """Return the class that a pool is to name, made if it is not there yet."""
        inline = inline_node_class(pool.pool)
        if inline is not None:
            name = self._free_name(pool.pool.name, pool.pool.name)
            template = _Template(pool.pool.template.inline_provider or {}, inline)
            self._make(name, template, pool.written_kubelet, subject=f"Provisioner {pool.pool.name}")
            return _reference(name)
        wanted = pool.pool.template.node_class_ref
        assert wanted is not None, "its codec asks for one of the two"
        known = [name for of, kubelet, name in self._made if (of, kubelet) == (wanted.name, pool.kubelet)]
        if known:
            return _reference(known[0])
        name = self._free_name(wanted.name, f"{wanted.name}-{pool.pool.name}")
        self._made.append((wanted.name, pool.kubelet, name))
        template_there = self.templates.get(wanted.name)
        if template_there is None:
            self._miss(pool, wanted.name)
        else:
            self._make(name, template_there, pool.written_kubelet, subject=f"AWSNodeTemplate {wanted.name}")
        return _reference(name)

    def add_unused(self) -> None:
        """Convert the templates that no Provisioner names."""
        for name, template in self.templates.items():
            if all(of != name for of, _, _ in self._made):
                self._make(self._free_name(name, name), template, None, subject=f"AWSNodeTemplate {name}")

    def _make(self, name: str, template: _Template, kubelet: Mapping[str, Any] | None, *, subject: str) -> None:
        notes = Notebook(subject)
        manifest = node_class_manifest(
            name, template.spec, template.meant, kubelet=kubelet, profile=self.profile, notes=notes
        )
        self.give_out(manifest, notes, check=decode_ec2_node_class)

    def _miss(self, pool: _Pool, template: str) -> None:
        message = f"AWSNodeTemplate {template} is not in the input: convert it together with this"
        self.notes.append(Note("changes", f"Provisioner {pool.pool.name}", "spec.providerRef", message))

    def _free_name(self, first: str, second: str) -> str:
        taken = {manifest["metadata"]["name"] for manifest in self.manifests if manifest["kind"] == CLASS_KIND}
        taken |= {name for _, _, name in self._made}
        names = [first, second, *(f"{second}-{number}" for number in range(2, len(taken) + 3))]
        return next(name for name in names if name not in taken)

    def give_out(self, manifest: dict[str, Any], notes: Notebook, *, check: Callable[[object], object]) -> None:
        """Add a manifest if it is valid where it goes to, and the notes in any case."""
        if not notes.is_refused:
            try:
                check(manifest)
            except ManifestError as error:
                for each in error.errors:
                    notes.add("refused", "", f"as {manifest['kind']} it is not valid: {each}")
        if not notes.is_refused:
            self.manifests.append(manifest)
        self.notes.extend(notes.notes)


def _reference(name: str) -> NodeClassRef:
    return NodeClassRef(labels.AWS_GROUP, CLASS_KIND, name)
