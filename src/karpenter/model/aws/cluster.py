"""What a node must know of the cluster it joins."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """The cluster, as user data and names of resources speak of it."""

    name: str
    endpoint: str
    """URL of the API server, `https://…`."""
    ca_bundle: str = ""
    """Certificate authority of the API server: PEM in base64; empty when it is not known."""
    version: str = ""
    """Kubernetes version by which images are chosen, `1.32`."""
    service_cidr: str = ""
    """Addresses of services, which AL2023 nodes must be told; empty when it is not known."""
    dns_address: str = ""
    """Address of the cluster's DNS service; empty leaves it to the image's own script."""

    @property
    def is_ipv6(self) -> bool:
        """Whether pods and services have IPv6 addresses: the cluster's DNS or service addresses say so."""
        return ":" in (self.dns_address or self.service_cidr)
