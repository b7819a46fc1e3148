"""Images that join by `nodeadm`: AL2023 (spec v1 A-41)."""

from __future__ import annotations

from typing import Any, Final

import yaml

from karpenter.model.aws.userdata.bootstrap import Bootstrap
from karpenter.model.aws.userdata.kubeletflags import kubelet_configuration
from karpenter.model.aws.userdata.mime import (
    NODE_CONFIG,
    SHELL_SCRIPT,
    Part,
    is_archive,
    read_archive,
    write_archive,
)

_API_VERSION: Final = "node.eks.aws/v1alpha1"
_WIDTH: Final = 2**20
"""Nothing is wrapped: some readers take a wrapped flag for two."""


def nodeadm_user_data(boot: Bootstrap) -> str:
    """Return the archive: the user's parts, then our NodeConfig, so that what we say wins. Raises ValueError."""
    return write_archive([*_own_parts(boot.custom), Part.of(NODE_CONFIG, node_config(boot))])


def _own_parts(custom: str) -> tuple[Part, ...]:
    """Return the user's parts: an archive's, or one whose type follows from the text."""
    if not custom:
        return ()
    if is_archive(custom):
        return read_archive(custom)
    return (Part.of(NODE_CONFIG if _is_mapping(custom) else SHELL_SCRIPT, custom),)


def _is_mapping(text: str) -> bool:
    if text.startswith("#!"):
        return False
    try:
        return isinstance(yaml.safe_load(text), dict)
    except yaml.YAMLError:
        return False


def node_config(boot: Bootstrap) -> str:
    """Return the NodeConfig that nodeadm joins the cluster by.

    Raises:
        ValueError: the addresses of services are not known, which nodeadm must be told.
    """
    cluster = boot.cluster
    if not cluster.service_cidr:
        raise ValueError("AL2023 nodes must be told the cluster's service CIDR, which could not be found out")
    known = {
        "name": cluster.name,
        "apiServerEndpoint": cluster.endpoint,
        "certificateAuthority": cluster.ca_bundle,
        "cidr": cluster.service_cidr,
    }
    joined = ",".join(f"{key}={value}" for key, value in boot.labels.items())
    spec: dict[str, Any] = {
        "cluster": {key: value for key, value in known.items() if value},
        "kubelet": {"config": kubelet_configuration(boot), "flags": [f'--node-labels="{joined}"']},
    }
    if boot.local_disks_are_storage:
        spec["instance"] = {"localStorage": {"strategy": "RAID0"}}
    document = {"apiVersion": _API_VERSION, "kind": "NodeConfig", "spec": spec}
    return "# Karpenter Generated NodeConfig\n" + yaml.safe_dump(document, default_flow_style=False, width=_WIDTH)
