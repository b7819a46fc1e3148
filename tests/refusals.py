"""What is wrong with a manifest, for tests of codecs."""

from collections.abc import Callable
from typing import Any

import pytest

from karpenter.model.errors import FieldError, ManifestError


def errors_of(decode: Callable[..., Any], manifest: object, **options: Any) -> tuple[FieldError, ...]:
    """Return the errors for which `decode` refuses a manifest; fails when it accepts."""
    with pytest.raises(ManifestError) as caught:
        decode(manifest, **options)
    return caught.value.errors


def paths_of(decode: Callable[..., Any], manifest: object, **options: Any) -> list[str]:
    """Return the paths of the fields for which `decode` refuses a manifest."""
    return [error.path for error in errors_of(decode, manifest, **options)]
