"""The SDK's errors in the words of all clouds; the original is chained, so that its code can still be read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from botocore.exceptions import BotoCoreError, ClientError

from karpenter.cloud.errors import CloudError, ThrottledError, UnauthorizedError

_BAD_CREDENTIALS: Final = frozenset({
    "AuthFailure", "ExpiredToken", "ExpiredTokenException", "IncompleteSignature", "InvalidClientTokenId",
    "InvalidSignatureException", "RequestExpired", "SignatureDoesNotMatch", "UnrecognizedClientException",
})  # fmt: skip
_DENIED: Final = frozenset({"AccessDenied", "AccessDeniedException", "OptInRequired", "UnauthorizedOperation"})
_ROLE: Final = "role of the service account (IRSA or Pod Identity)"
_ENCODED: Final = re.compile(r"\s*Encoded authorization failure message: \S+")
"""A few hundred characters that only AWS can read."""
_THROTTLED: Final = frozenset({
    "EC2ThrottledException", "RequestLimitExceeded", "RequestThrottled", "RequestThrottledException", "Throttling",
    "ThrottledException", "ThrottlingException", "TooManyRequestsException",
})  # fmt: skip
_RETRY_AFTER_S: Final = 2.0


def cloud_error(error: ClientError | BotoCoreError, operation: str) -> CloudError:
    """Return what a failed call means; raise it `from` the error given."""
    from botocore import exceptions  # noqa: PLC0415  (lazy: the SDK costs half a second)

    if isinstance(error, exceptions.NoCredentialsError | exceptions.PartialCredentialsError):
        return UnauthorizedError(f"there are no AWS credentials; check the {_ROLE}")
    if not isinstance(error, exceptions.ClientError):
        return CloudError(f"{operation} could not be sent: {error}")
    code, message = _said(error, "Code"), _said(error, "Message")
    if code in _BAD_CREDENTIALS:
        return UnauthorizedError(f"AWS does not accept the credentials ({code}): {message}; check the {_ROLE}")
    if code in _DENIED:
        why = _ENCODED.sub("", message).rstrip(". ")
        return UnauthorizedError(
            f"{operation} is refused ({code}): {why}; allow it in the controller's IAM policy, see docs/aws"
        )
    if code in _THROTTLED:
        return ThrottledError(f"{operation} is throttled ({code})", retry_after_s=_RETRY_AFTER_S)
    return CloudError(f"{operation} failed ({code}): {message}")


def is_denied(error: BaseException) -> bool:
    """Return whether we are known but may not do it; False for credentials that are missing, expired or wrong."""
    return error_code(error) in _DENIED


def error_code(error: BaseException) -> str:
    """Return the code by which AWS names what went wrong; empty when the request did not reach it."""
    return _said(error.__cause__, "Code")


def _said(error: BaseException | None, key: str) -> str:
    response = getattr(error, "response", None)  # so of a ClientError; other errors of the SDK have no answer
    return str(response.get("Error", {}).get(key, "")) if isinstance(response, dict) else ""
