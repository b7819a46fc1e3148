"""The seam for rules beyond resources, labels and taints: each is one module with these three operations.

The fourth one, where a class may go at all, is a narrower `NodeRule`: dealing domains works by that.
"""

from __future__ import annotations

from typing import Protocol

from karpenter.scheduling.catalog import Floats
from karpenter.scheduling.items import Item


class Constraint(Protocol):
    """A rule that caps what each bin takes and remembers what it holds. Rows are those of `Bins`."""

    def room(self, item: Item, rows: slice) -> Floats | None:
        """Return how many copies more each of the rows takes; None when the rule does not speak of the item."""
        ...

    def put(self, row: int, item: Item, count: int) -> None:
        """Count copies that were put into a bin; a negative number takes them out."""
        ...

    def closed(self, row: int) -> None:
        """Forget a bin that was opened and is not needed."""
        ...
