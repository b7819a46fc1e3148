"""EKS: the one cluster."""

from __future__ import annotations

from collections.abc import Mapping

from karpenter.sim.ec2.backend import Backend, Handler, Params, Result
from karpenter.sim.ec2.codec.messages import AwsError
from karpenter.sim.ec2.network import VPC_ID


class Clusters:
    """What EKS says of the account's cluster."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def operations(self) -> Mapping[str, Handler]:
        """Return what it answers."""
        return {"eks:DescribeCluster": self._describe}

    def _describe(self, params: Params) -> Result:
        cluster, name = self._backend.cluster, params["name"]
        if name != cluster.name:
            raise AwsError("ResourceNotFoundException", f"No cluster found for name: {name}.", status=404)
        is_ipv6 = ":" in cluster.service_cidr
        return {
            "cluster": {
                "name": name,
                "arn": self._backend.arn("eks", f"cluster/{name}"),
                "status": "ACTIVE",
                "version": cluster.version,
                "endpoint": cluster.endpoint,
                "certificateAuthority": {"data": cluster.ca_bundle},
                "kubernetesNetworkConfig": {
                    "serviceIpv6Cidr" if is_ipv6 else "serviceIpv4Cidr": cluster.service_cidr,
                    "ipFamily": "ipv6" if is_ipv6 else "ipv4",
                },
                "resourcesVpcConfig": {"vpcId": VPC_ID},
            }
        }
