"""What EKS says of the cluster that nodes join. Source: spec v1alpha5 §6.1, spec v1 §4.11, §5.2."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Final

from karpenter.aws.session import AwsSession
from karpenter.cloud.errors import CloudError
from karpenter.model.aws.cluster import ClusterFacts
from karpenter.model.aws.settings import AwsAccount
from karpenter.runtime import logs

log = logs.get("aws.cluster")

REFRESH_S: Final = 300.0


class ClusterDiscovery:
    """Finds out what settings leave open, and follows the cluster's version."""

    def __init__(self, aws: AwsSession, account: AwsAccount, *, version: str) -> None:
        """`version` is Kubernetes' until EKS tells another, `1.32`."""
        self._aws = aws
        self._account = account
        self._asked = False
        self._asking = asyncio.Lock()
        self.facts = ClusterFacts(
            account.cluster_name, account.cluster_endpoint, ca_bundle=account.cluster_ca_bundle, version=version
        )

    async def ensure(self) -> None:
        """Ask EKS once before anything depends on it; what it does not tell stays as the settings have it."""
        async with self._asking:
            if self._asked:
                return
            self._asked = True
            try:
                await self.refresh()
            except CloudError as error:
                log.warning("cannot find the cluster, going on with what the settings say", error=error)

    async def refresh(self) -> None:
        """Ask EKS; what the settings say stands. Raises CloudError."""
        answer = await self._aws.call("eks", "DescribeCluster", name=self._account.cluster_name)
        cluster = answer["cluster"]
        network = cluster.get("kubernetesNetworkConfig", {})
        authority = cluster.get("certificateAuthority", {}).get("data", "")
        found = replace(
            self.facts,
            endpoint=self._account.cluster_endpoint or cluster.get("endpoint", ""),
            ca_bundle=self._account.cluster_ca_bundle or authority,
            version=cluster.get("version", self.facts.version),
            service_cidr=network.get("serviceIpv6Cidr") or network.get("serviceIpv4Cidr", ""),
        )
        if found != self.facts:
            log.info("found the cluster", cluster=found.name, endpoint=found.endpoint, version=found.version)
        self.facts = found
