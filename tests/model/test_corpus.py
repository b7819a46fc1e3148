"""The corpus of manifests, read by the codecs in both modes: valid ones are read, the rest refused by their field."""

import pytest

from karpenter.model.aws.nodeclasses import decode_node_class
from karpenter.model.errors import ManifestError
from karpenter.model.pools import decode_nodeclaim, decode_pool
from tests.corpora import CASES, MODES, Case


def refused(case: Case, mode: str) -> tuple[str, ...]:
    """Return the paths that the codec complains about."""
    kind = case.manifest["kind"]
    try:
        if kind in {"Provisioner", "NodePool"}:
            decode_pool(case.manifest, mode=mode)
        elif kind == "NodeClaim":
            decode_nodeclaim(case.manifest)
        else:
            decode_node_class(case.manifest)
    except ManifestError as error:
        return tuple(fault.path for fault in error.errors)
    return ()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_codecs_judge_the_corpus(case: Case, mode: str) -> None:
    assert refused(case, mode) == case.codec_refuses(mode)
