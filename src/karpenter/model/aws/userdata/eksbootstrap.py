"""Images that join by `/etc/eks/bootstrap.sh`: AL2 and Ubuntu (AWS-70 … AWS-74)."""

from __future__ import annotations

from collections.abc import Iterator

from karpenter.model.aws.userdata.bootstrap import Bootstrap
from karpenter.model.aws.userdata.kubeletflags import kubelet_flags
from karpenter.model.aws.userdata.mime import SHELL_SCRIPT, Part, is_archive, read_archive, write_archive


def eks_user_data(boot: Bootstrap) -> str:
    """Return the archive: the user's parts, then the script that joins the cluster. Raises ValueError."""
    return write_archive([*_own_parts(boot.custom), Part.of(SHELL_SCRIPT, bootstrap_script(boot))])


def _own_parts(custom: str) -> tuple[Part, ...]:
    if not custom:
        return ()
    return read_archive(custom) if is_archive(custom) else (Part.of(SHELL_SCRIPT, custom),)


def bootstrap_script(boot: Bootstrap) -> str:
    """Return the script; `bootstrap.sh` reads its parameters without an equals sign, one a line here (AWS-71)."""
    cluster = boot.cluster
    call = f"/etc/eks/bootstrap.sh '{cluster.name}' --apiserver-endpoint '{cluster.endpoint}'"
    if cluster.ca_bundle:
        call += f" --b64-cluster-ca '{cluster.ca_bundle}'"
    return "\n".join([
        "#!/bin/bash -xe",
        "exec > >(tee /var/log/user-data.log|logger -t user-data -s 2>/dev/console) 2>&1",
        " \\\n".join([call, *_options(boot)]),
    ])  # fmt: skip


def _options(boot: Bootstrap) -> Iterator[str]:
    kubelet = boot.kubelet
    if any(":" in address for address in kubelet.cluster_dns[:1]):
        yield "--ip-family ipv6"
    if kubelet.container_runtime:
        yield f"--container-runtime {kubelet.container_runtime}"
    if kubelet.cluster_dns:
        yield f"--dns-cluster-ip '{kubelet.cluster_dns[0]}'"
    # The number of pods is always given among the kubelet's arguments; the script's own table must not go against it.
    yield "--use-max-pods false"
    yield f"--kubelet-extra-args '{' '.join(kubelet_flags(boot))}'"
    if boot.local_disks_are_storage:
        yield "--local-disks raid0"
