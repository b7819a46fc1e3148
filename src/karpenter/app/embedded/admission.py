"""What an admission webhook would say about our kinds: every broken rule as a refusal, every slip as a warning.

Defaults are not written into stored objects: the codecs apply them on every read, and so `kubectl apply` of the same
file a second time finds nothing to change (API-3).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from karpenter.model.aws.nodeclasses import decode_node_class
from karpenter.model.errors import ManifestError, ManifestWarning
from karpenter.model.pools import Mode, decode_pool
from karpenter.runtime.kube import RawObject
from karpenter.runtime.kubememory.admission import Admission, Operation
from karpenter.runtime.kubememory.refusals import Cause, invalid
from karpenter.runtime.kubememory.resources import ApiResource

Check = Callable[[RawObject], Sequence[ManifestWarning]]


def admission(mode: Mode = "compat") -> Admission:
    """Return the hook that judges pools and node classes as our codecs do."""
    checks: Mapping[tuple[str, str], Check] = {
        ("karpenter.sh", "Provisioner"): lambda raw: decode_pool(raw, mode=mode)[1],
        ("karpenter.sh", "NodePool"): lambda raw: decode_pool(raw, mode=mode)[1],
        ("karpenter.k8s.aws", "AWSNodeTemplate"): _node_class,
        ("karpenter.k8s.aws", "EC2NodeClass"): _node_class,
    }

    def judge(
        _operation: Operation, resource: ApiResource, new: RawObject, old: RawObject | None
    ) -> tuple[RawObject, Sequence[str]]:
        check = checks.get((resource.group, resource.kind))
        if check is None or (old is not None and _judged(old) == _judged(new)):
            return new, ()
        try:
            return new, tuple(str(warning) for warning in check(new))
        except ManifestError as error:
            causes = [Cause("FieldValueInvalid", each.path, _words(each.reason, each.fix)) for each in error.errors]
            raise invalid(resource, str(new["metadata"].get("name", "")), causes) from error

    return judge


def _node_class(raw: RawObject) -> Sequence[ManifestWarning]:
    decode_node_class(raw)
    return ()


_JUDGED: Final = ("labels", "annotations")


def _judged(raw: RawObject) -> Mapping[str, Any]:
    """Return what the codecs judge. Writes to status and finalizers pass even where rules became stricter since."""
    return {"spec": raw.get("spec"), **{field: raw["metadata"].get(field) for field in _JUDGED}}


def _words(reason: str, fix: str) -> str:
    return f"{reason} ({fix})" if fix else reason
