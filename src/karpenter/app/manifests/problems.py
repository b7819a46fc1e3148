"""What is wrong with the input, collected over all files before anything is said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from karpenter.app.errors import BadInputError
from karpenter.model.errors import FieldError


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in one file."""

    place: str
    """The file as the user named it; `stdin` for `-`."""
    subject: str
    """The object as users write it, `Pod web/api-0`; empty when the file as a whole cannot be read."""
    error: FieldError | str

    def __str__(self) -> str:
        return ": ".join(part for part in (self.place, self.subject, str(self.error)) if part)


class InputError(BadInputError):
    """The input cannot be used; `problems` lists every mistake found."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))
