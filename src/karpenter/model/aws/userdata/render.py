"""The user data of a machine, whatever its image."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from karpenter.model.aws.nodeclass import AmiFamily
from karpenter.model.aws.userdata.bootstrap import Bootstrap
from karpenter.model.aws.userdata.bottlerocket import bottlerocket_user_data
from karpenter.model.aws.userdata.eksbootstrap import eks_user_data
from karpenter.model.aws.userdata.nodeadm import nodeadm_user_data
from karpenter.model.aws.userdata.windows import windows_user_data
from karpenter.model.errors import KarpenterError

LARGEST_BYTES: Final = 16384
"""What EC2 takes, before base64."""


class UserDataError(KarpenterError):
    """No user data can be made of what the node class says; the reason is that of a condition or a failed launch."""

    def __init__(self, message: str, *, reason: str = "LaunchFailed") -> None:
        self.reason = reason
        super().__init__(message)


def _verbatim(boot: Bootstrap) -> str:
    return boot.custom


_RENDERERS: Final[Mapping[AmiFamily, Callable[[Bootstrap], str]]] = {
    "AL2": eks_user_data,
    "AL2023": nodeadm_user_data,
    "Bottlerocket": bottlerocket_user_data,
    "Ubuntu": eks_user_data,
    "Windows2019": windows_user_data,
    "Windows2022": windows_user_data,
    "Windows2025": windows_user_data,
    "Custom": _verbatim,
}


def render_user_data(boot: Bootstrap) -> str:
    """Return the text that the machine boots with, before base64; equal settings give equal text.

    Raises:
        UserDataError: the user's part cannot be merged, or all together is larger than EC2 takes.
    """
    try:
        text = _RENDERERS[boot.family](boot)
    except ValueError as error:
        raise UserDataError(f"userData of family {boot.family} cannot be merged: {error}") from error
    size = len(text.encode())
    if size > LARGEST_BYTES:
        raise UserDataError(
            f"user data has {size} bytes, EC2 takes {LARGEST_BYTES}; shorten userData, or let it fetch the rest",
            reason="UserDataSizeLimitExceeded",
        )
    return text
