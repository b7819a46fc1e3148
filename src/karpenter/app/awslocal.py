"""The operator with the AWS provider, over a simulated account in this process: `demo --cloud aws-local`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from karpenter.app.assembly import CloudSettings
from karpenter.app.plugged import PluggedAssembly
from karpenter.app.settings import Settings
from karpenter.aws.opening import from_context
from karpenter.runtime.clock import Clock
from karpenter.runtime.controller import Runnable
from karpenter.runtime.kube import KubeClient
from karpenter.runtime.metrics import Metrics
from karpenter.sim.cloud.requests import CloudRequests
from karpenter.sim.ec2.backend import ACCESS_KEY, CLUSTER
from karpenter.sim.ec2.opening import REGION, open_account

_ENVIRONMENT: Final = {
    "AWS_ACCESS_KEY_ID": ACCESS_KEY,
    "AWS_SECRET_ACCESS_KEY": "simulated",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "NO_PROXY": "127.0.0.1",
}
"""What the SDK finds: nobody's real credentials are sent anywhere, and no proxy is asked for loopback."""
_PROFILE: Final = "simulated-node"
"""Instance profile of node classes that name neither profile nor role."""
_FORGOTTEN: Final = ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN", "AWS_ROLE_ARN")


class AwsLocalAssembly(PluggedAssembly):
    """Our controllers with the AWS provider, and the account it uses."""

    def __init__(
        self, client: KubeClient, *, clock: Clock, metrics: Metrics, settings: Settings, cloud: CloudSettings
    ) -> None:
        self.account = open_account(clock, cloud.market, saved=cloud.saved, on_change=cloud.on_change)
        self.market = self.account.market
        known = replace(
            settings.aws.account,
            cluster_name=CLUSTER.name,
            region=REGION,
            endpoint_url=self.account.endpoint.url,
            interruption_queue=CLUSTER.name,
            default_instance_profile=settings.aws.account.default_instance_profile or _PROFILE,
        )
        super().__init__(
            client,
            from_context,
            cluster_name=CLUSTER.name,
            clock=clock,
            metrics=metrics,
            settings=replace(settings, aws=replace(settings.aws, account=known)),
        )
        nodes = self.operator.informers.nodes
        self._requests = CloudRequests(client, self.market, nodes=nodes, clock=clock, metrics=metrics)

    async def run(self) -> None:
        """Serve the account and run until cancelled."""
        os.environ.update(_ENVIRONMENT)
        for name in _FORGOTTEN:
            os.environ.pop(name, None)
        await self.account.endpoint.start()
        try:
            await super().run()
        finally:
            await self.account.endpoint.stop()

    def _companions(self) -> Sequence[Runnable]:
        return (self._requests,)

    def close(self) -> None:
        """Give the endpoint's port back."""
        self.account.endpoint.close()
