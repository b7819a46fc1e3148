"""From the first use of a node class to its end: digest, finalizer, clean-up. Source: spec v1 A-2, A-3.

Controller `nodeclass.termination`, for clouds in which something is made for a class that must go with it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final

from karpenter.app.nodeclasses import NodeClasses
from karpenter.lifecycle.writer import without_finalizer
from karpenter.model import labels
from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.model.errors import ManifestError
from karpenter.model.nodeclaim import DRIFTED, NodeClaim
from karpenter.model.nodepool import NodeClassRef
from karpenter.runtime import logs
from karpenter.runtime.controller import DONE, Result
from karpenter.runtime.events import EventRecorder, ref_to
from karpenter.runtime.kube import EC2_NODE_CLASSES, NODE_CLAIMS, KubeClient, NotFound, RawObject

log = logs.get("nodeclass.termination")

_FINALIZER: Final = f"{labels.AWS_GROUP}/termination"
_LOOK_AGAIN_S: Final = 10.0
_MOST_NAMED: Final = 5
_HASHES: Final = (labels.NODE_CLASS_HASH, labels.NODE_CLASS_HASH_VERSION)

CleanUp = Callable[[AwsNodeClass], Awaitable[None]]


class NodeClassLife:
    """Keeps an EC2NodeClass until its claims are gone, then removes what was made for it."""

    name = "nodeclass.termination"

    def __init__(
        self,
        client: KubeClient,
        classes: NodeClasses,
        claims: Callable[[], Iterable[NodeClaim]],
        *,
        clean_up: CleanUp,
        recorder: EventRecorder,
    ) -> None:
        """`claims` returns all claims there are; `clean_up` removes what the cloud has made for a class."""
        self._client = client
        self._classes = classes
        self._claims = claims
        self._clean_up = clean_up
        self._recorder = recorder

    async def reconcile(self, key: NodeClassRef) -> Result:
        """Look at one node class."""
        raw = self._classes.raw(key)
        if raw is None or key.kind != EC2_NODE_CLASSES.kind:
            return DONE
        try:
            found = self._classes.find(key)
        except ManifestError:
            return DONE  # its status says what is wrong; nothing was made for it since
        if found is None:
            return DONE
        try:
            if raw["metadata"].get("deletionTimestamp"):
                return await self._end(key, raw, found)
            await self._begin(key, raw, found)
        except NotFound:
            pass  # gone meanwhile: its event is on the way
        return DONE

    async def _begin(self, key: NodeClassRef, raw: RawObject, found: AwsNodeClass) -> None:
        """Write finalizer and digest. Claims follow first when the digest is computed in a new way (A-2)."""
        metadata = raw["metadata"]
        written = metadata.get("annotations") or {}
        hashes = {name: found.hash_annotations[name] for name in _HASHES}
        patch: dict[str, object] = {}
        if any(written.get(name) != value for name, value in hashes.items()):
            if written.get(labels.NODE_CLASS_HASH_VERSION) not in {None, hashes[labels.NODE_CLASS_HASH_VERSION]}:
                await self._move_claims(key, hashes)
            patch["annotations"] = hashes
        finalizers = metadata.get("finalizers") or []
        if _FINALIZER not in finalizers:
            # A list is written whole: only over the one that was read.
            patch |= {"finalizers": [*finalizers, _FINALIZER], "resourceVersion": metadata["resourceVersion"]}
        if patch:
            await self._client.patch(EC2_NODE_CLASSES, key.name, {"metadata": patch})

    async def _move_claims(self, key: NodeClassRef, hashes: dict[str, str]) -> None:
        """Give claims the digest of the new kind; those that had drifted already only its version."""
        for claim in self._of(key):
            version = {labels.NODE_CLASS_HASH_VERSION: hashes[labels.NODE_CLASS_HASH_VERSION]}
            wanted = version if claim.is_true(DRIFTED) else hashes
            await self._client.patch(NODE_CLAIMS, claim.name, {"metadata": {"annotations": wanted}})

    async def _end(self, key: NodeClassRef, raw: RawObject, found: AwsNodeClass) -> Result:
        finalizers = raw["metadata"].get("finalizers") or []
        if _FINALIZER not in finalizers:
            return DONE
        claims = self._of(key)
        if claims:
            names = [claim.name for claim in claims]
            more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
            message = f"waits for the end of NodeClaims {', '.join(names[:_MOST_NAMED])}{more}"
            about = ref_to(EC2_NODE_CLASSES, raw)
            self._recorder.record(about, "Normal", "WaitingOnNodeClaimTermination", message, dedupe_key="")
            return Result(_LOOK_AGAIN_S)
        await self._clean_up(found)
        patch = without_finalizer(finalizers, raw["metadata"]["resourceVersion"], _FINALIZER)
        await self._client.patch(EC2_NODE_CLASSES, key.name, patch)
        log.info("removed what was made for a node class", name=key.name)
        return DONE

    def _of(self, key: NodeClassRef) -> Sequence[NodeClaim]:
        return sorted((one for one in self._claims() if one.node_class_ref == key), key=lambda claim: claim.name)
