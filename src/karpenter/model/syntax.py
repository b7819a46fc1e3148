"""How names, label keys and label values may be spelled in Kubernetes.

Each function returns what is wrong in words, or None when nothing is.
"""

from __future__ import annotations

import re
from typing import Final

_NAME: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
_DNS_LABEL: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_DNS_SUBDOMAIN: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")

_SPELLING: Final = "letters, digits, '-', '_' and '.', with a letter or digit at both ends"


def qualified_name_fault(text: str) -> str | None:
    """Judge a label key, taint key or annotation key: an optional DNS prefix with a slash, then a name."""
    prefix, slash, name = text.rpartition("/")
    if slash and not (len(prefix) <= 253 and _DNS_SUBDOMAIN.fullmatch(prefix)):
        return f"{text!r} has a prefix that is no lower-case DNS name"
    if not name:
        return f"{text!r} has no name" + (" after the slash" if slash else "")
    if len(name) > 63:
        return f"{text!r} has a name longer than 63 characters"
    return None if _NAME.fullmatch(name) else f"{text!r} is no qualified name: {_SPELLING}"


def label_value_fault(text: str) -> str | None:
    """Judge a label value: empty, or at most 63 characters of the usual kind."""
    if not text:
        return None
    if len(text) > 63:
        return f"{text!r} is longer than 63 characters"
    return None if _NAME.fullmatch(text) else f"{text!r} is no label value: {_SPELLING}"


def dns_label_fault(text: str) -> str | None:
    """Judge the name of an object that becomes a label value: a lower-case DNS label of at most 63 characters."""
    if len(text) > 63:
        return f"{text!r} is longer than 63 characters"
    if _DNS_LABEL.fullmatch(text):
        return None
    return f"{text!r} is no DNS label: lower-case letters, digits and '-', with a letter or digit at both ends"
