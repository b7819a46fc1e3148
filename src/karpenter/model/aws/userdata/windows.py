"""Windows, which joins by a PowerShell script of the image (AWS-76)."""

from __future__ import annotations

from karpenter.model.aws.userdata.bootstrap import Bootstrap
from karpenter.model.aws.userdata.kubeletflags import kubelet_flags


def windows_user_data(boot: Bootstrap) -> str:
    """Return the user's script and then ours, in one PowerShell block."""
    cluster, kubelet = boot.cluster, boot.kubelet
    call = (
        f"& $EKSBootstrapScriptFile -EKSClusterName '{cluster.name}' -APIServerEndpoint '{cluster.endpoint}'"
        + (f" -Base64ClusterCA '{cluster.ca_bundle}'" if cluster.ca_bundle else "")
        + f" -KubeletExtraArgs '{' '.join(kubelet_flags(boot))}'"
        + (f" -DNSClusterIP '{kubelet.cluster_dns[0]}'" if kubelet.cluster_dns else "")
        + (f" -ContainerRuntime '{kubelet.container_runtime}'" if kubelet.container_runtime else "")
    )
    lines = [
        "<powershell>",
        *([boot.custom] if boot.custom else []),
        r'[string]$EKSBootstrapScriptFile = "$env:ProgramFiles\Amazon\EKS\Start-EKSBootstrap.ps1"',
        call,
        "</powershell>",
    ]
    return "\n".join(lines)
