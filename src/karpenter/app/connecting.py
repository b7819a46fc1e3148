"""A client of the cluster that a user means, for the length of a command."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from karpenter.app.errors import SettingsError
from karpenter.runtime.clock import WallClock
from karpenter.runtime.kubehttp import HttpKubeClient, find_connection
from karpenter.runtime.kubehttp.connection import ConnectionSettingsError


@asynccontextmanager
async def connected(kubeconfig: Path | None) -> AsyncIterator[HttpKubeClient]:
    """Yield a client; without a kubeconfig KUBECONFIG counts, the pod's service account or ~/.kube/config.

    Raises SettingsError when none of them says how to reach an API server.
    """
    try:
        connection = find_connection(os.environ, kubeconfig=kubeconfig)
    except ConnectionSettingsError as error:
        raise SettingsError(str(error)) from error
    client = HttpKubeClient(connection, clock=WallClock())
    try:
        yield client
    finally:
        await client.close()
