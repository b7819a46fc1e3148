"""Disruption budgets of a Provisioner, whose API has none: our own, unless an annotation gives others."""

from __future__ import annotations

from typing import Final

import msgspec

from karpenter.model import labels
from karpenter.model.budgets import REASONS, read_budgets
from karpenter.model.envelope import Envelope
from karpenter.model.errors import FieldError
from karpenter.model.nodepool import Budget
from karpenter.model.reading import Reader

DEFAULT: Final = (
    Budget(nodes="1", reasons=frozenset({"Drifted", "Expired"})),
    Budget(nodes="10%", reasons=frozenset({"Underutilized"})),
)
"""Drift and expiration one node at a time, consolidation a tenth of the nodes; empty ones as they come."""


def provisioner_budgets(envelope: Envelope) -> tuple[Budget, ...]:
    """Return the budgets of the annotation `karpenter.sh/disruption-budgets`, a JSON list as in a v1 NodePool.

    Beside the reasons of v1 it may name `Expired`, which a Provisioner honours gracefully.
    """
    text = envelope.metadata.annotations.get(labels.DISRUPTION_BUDGETS)
    if text is None:
        return DEFAULT
    errors = envelope.root.errors
    try:
        written = Reader({labels.DISRUPTION_BUDGETS: msgspec.json.decode(text)}, "metadata.annotations", errors)
    except (msgspec.DecodeError, RecursionError) as error:
        fault = FieldError(f"metadata.annotations[{labels.DISRUPTION_BUDGETS}]", f"is not a JSON list: {error}")
        errors.append(fault)
        return DEFAULT
    budgets = read_budgets(written, labels.DISRUPTION_BUDGETS, reasons=(*REASONS, "Expired"))
    written.finish()
    return budgets
