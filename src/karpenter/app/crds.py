"""`karpenter crds`: the definitions of our kinds, for `kubectl apply -f -`."""

from __future__ import annotations

from importlib import resources

from karpenter.model import crds as schemas


def crds() -> None:
    """Print the CustomResourceDefinitions as YAML, one document a kind: `karpenter crds | kubectl apply -f -`."""
    folder = resources.files(schemas)
    texts = (folder.joinpath(name).read_text(encoding="utf-8") for name in schemas.FILES)
    print("---\n".join(texts), end="")
