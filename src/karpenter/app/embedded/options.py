"""What a demo is told, and what carries it out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from karpenter.app.embedded.api import EmbeddedApi
from karpenter.app.embedded.web import StatusServer
from karpenter.app.embedded.words import Whereabouts
from karpenter.app.settings import Settings
from karpenter.model.catalog import Catalog
from karpenter.sim.startuptaints import StartupTaints


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """What flags and settings say."""

    settings: Settings
    cloud: Literal["simulated", "aws-local"]
    cloud_speed: float
    seed: int
    startup_taints: StartupTaints
    catalog: Catalog | None
    """None for the instance types of AWS."""
    data: Path | None
    """The folder that keeps everything; None keeps nothing."""
    port: int
    sample: bool
    kubeconfig_out: Path | None
    exit_when_settled: bool
    scenario: Path | None


class Running(Protocol):
    """`running.run`, for those who load it later."""

    async def __call__(
        self, api: EmbeddedApi, options: DemoOptions, *, status: StatusServer, where: Whereabouts
    ) -> int:
        """Run until it is interrupted, or has settled if that ends it; return the exit status."""
