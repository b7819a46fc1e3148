"""MIME archives, the form in which cloud-init takes several scripts and configurations at once (AWS-70)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from email import message_from_string
from typing import Final

SHELL_SCRIPT: Final = 'text/x-shellscript; charset="us-ascii"'
NODE_CONFIG: Final = "application/node.eks.aws"
_BOUNDARY: Final = "//"


@dataclass(frozen=True, slots=True)
class Part:
    """One entry of an archive."""

    body: str
    headers: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, content_type: str, body: str) -> Part:
        """Return an entry that says nothing but its type."""
        return cls(body, (("Content-Type", content_type),))


def is_archive(text: str) -> bool:
    """Return whether text is an archive by itself: its first header says so (AWS-70)."""
    return text.lstrip().startswith(("MIME-Version:", "Content-Type:"))


def read_archive(text: str) -> tuple[Part, ...]:
    """Return the entries of an archive, bodies as they are written.

    Raises:
        ValueError: it is not a multipart archive, or it has no entries.
    """
    message = message_from_string(text.lstrip().replace("\r", ""))
    if message.get_content_maintype() != "multipart":
        raise ValueError(f"its Content-Type is {message.get_content_type()}, expected multipart/mixed")
    if not message.is_multipart() or message.defects:
        raise ValueError(f"the boundary {message.get_boundary()!r} separates no complete parts")
    parts = [part for part in message.get_payload() if not isinstance(part, str)]
    return tuple(Part(str(part.get_payload()), tuple(_unfolded(*item) for item in part.raw_items())) for part in parts)


def _unfolded(name: str, value: str) -> tuple[str, str]:
    return name, " ".join(str(value).split())


def write_archive(parts: Iterable[Part]) -> str:
    """Return an archive of these entries, in this order."""
    lines = ["MIME-Version: 1.0", f'Content-Type: multipart/mixed; boundary="{_BOUNDARY}"', ""]
    for part in parts:
        lines += [f"--{_BOUNDARY}", *(f"{name}: {value}" for name, value in part.headers), "", part.body]
    return "\n".join([*lines, f"--{_BOUNDARY}--", ""]).replace("\r", "")
