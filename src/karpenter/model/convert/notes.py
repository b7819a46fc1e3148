"""What a conversion has to say beside the manifests it gives out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Level = Literal["changes", "lost", "refused"]
"""`changes`: means something else from now on. `lost`: cannot be said any more, and was left out. `refused`: the object
was not converted."""


@dataclass(frozen=True, slots=True)
class Note:
    """Something its author should know about one object."""

    level: Level
    subject: str
    """The old object as users write it: `Provisioner default`."""
    path: str
    """The field in the old object; empty when it is about the whole."""
    message: str

    def __str__(self) -> str:
        where = f"{self.subject}: {self.path}" if self.path else self.subject
        return f"{self.level}: {where}: {self.message}"


@dataclass(slots=True)
class Notebook:
    """Collects the notes about one object."""

    subject: str
    notes: list[Note] = field(default_factory=list)

    def add(self, level: Level, path: str, message: str) -> None:
        """Note something about a field."""
        self.notes.append(Note(level, self.subject, path, message))

    @property
    def is_refused(self) -> bool:
        """Whether the object cannot be converted."""
        return any(note.level == "refused" for note in self.notes)
