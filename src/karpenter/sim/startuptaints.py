"""What becomes of startup taints."""

from __future__ import annotations

from typing import Literal

StartupTaints = Literal["auto", "manual"]
"""`auto`: they go a few seconds after a node is ready, as if an agent had done its work; `manual`: somebody does it."""
