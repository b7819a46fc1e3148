"""How each program of the control plane is called: all on loopback, quick, and otherwise as on a real cluster."""

import socket
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.e2e.pki import ADMIN, CONTROLLER_MANAGER, SCHEDULER, Pair, Pki, User

LOOPBACK = "127.0.0.1"
CONTROLLERS = (
    "clusterrole-aggregation-controller",
    "cronjob-controller",
    "daemonset-controller",
    "deployment-controller",
    "disruption-controller",
    "endpointslice-controller",
    "ephemeral-volume-controller",
    "garbage-collector-controller",
    "job-controller",
    "namespace-controller",
    "node-lifecycle-controller",
    "persistentvolume-attach-detach-controller",
    "persistentvolume-binder-controller",
    "persistentvolume-protection-controller",
    "persistentvolumeclaim-protection-controller",
    "pod-garbage-collector-controller",
    "replicaset-controller",
    "resourcequota-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "statefulset-controller",
    "taint-eviction-controller",
)
"""Those of a real cluster that concern nodes, pods and what owns them."""

FAKE_NODE = "kwok.x-k8s.io/node=fake"
"""The annotation of nodes that kwok keeps alive; all others are left alone."""


@dataclass(frozen=True)
class Ports:
    """One free port for each listener."""

    etcd: int
    etcd_peer: int
    api_server: int
    controller_manager: int
    scheduler: int
    kwok: int
    metrics_server: int


def free_ports() -> Ports:
    """Return ports that nobody listens on. All are held at once, so that they differ."""
    sockets = [socket.create_server((LOOPBACK, 0)) for _ in Ports.__dataclass_fields__]
    try:
        return Ports(*(each.getsockname()[1] for each in sockets))
    finally:
        for each in sockets:
            each.close()


@dataclass(frozen=True)
class Layout:
    """Where one control plane has its files and ports."""

    home: Path
    binaries: Path
    ports: Ports
    pki: Pki

    @property
    def url(self) -> str:
        return f"https://{LOOPBACK}:{self.ports.api_server}"

    def kubeconfig(self, user: User) -> Path:
        """Return the kubeconfig of a user who shows a bearer token."""
        return self.home / f"{user.name.replace(':', '-')}.kubeconfig"


def write_kubeconfig(layout: Layout, path: Path, credentials: dict[str, object]) -> Path:
    """Write a kubeconfig for this control plane. `credentials` is what stands under `user`: a token, exec, …"""
    cluster = {"server": layout.url, "certificate-authority": str(layout.pki.authority.certificate_file)}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "e2e",
        "clusters": [{"name": "e2e", "cluster": cluster}],
        "users": [{"name": "e2e", "user": credentials}],
        "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "e2e", "namespace": "default"}}],
    }
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


def etcd(layout: Layout) -> list[str]:
    client, peer = (f"http://{LOOPBACK}:{port}" for port in (layout.ports.etcd, layout.ports.etcd_peer))
    return [
        "--name=e2e",
        f"--data-dir={layout.home / 'etcd'}",
        "--unsafe-no-fsync",  # the data is thrown away: no need to wait for the disk
        "--logger=zap",
        "--log-level=warn",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=e2e={peer}",
    ]


def kube_apiserver(layout: Layout) -> list[str]:
    pki = layout.pki
    return [
        f"--etcd-servers=http://{LOOPBACK}:{layout.ports.etcd}",
        f"--secure-port={layout.ports.api_server}",
        f"--bind-address={LOOPBACK}",
        f"--advertise-address={LOOPBACK}",
        "--endpoint-reconciler-type=none",  # endpoints may not be on loopback
        "--service-cluster-ip-range=10.96.0.0/16",
        "--allow-privileged",
        "--shutdown-watch-termination-grace-period=5s",  # else it would wait a minute for watches to end by themselves
        "--authorization-mode=Node,RBAC",
        f"--client-ca-file={pki.authority.certificate_file}",
        f"--token-auth-file={pki.tokens}",
        *serving(pki.server),
        f"--service-account-issuer={layout.url}",
        f"--service-account-key-file={pki.service_account_public_key}",
        f"--service-account-signing-key-file={pki.service_account_key}",
        f"--kubelet-client-certificate={pki.kubelet_client.certificate_file}",
        f"--kubelet-client-key={pki.kubelet_client.key_file}",
        "--kubelet-preferred-address-types=InternalIP",
        # What lets metrics-server answer for metrics.k8s.io:
        f"--proxy-client-cert-file={pki.front_proxy_client.certificate_file}",
        f"--proxy-client-key-file={pki.front_proxy_client.key_file}",
        f"--requestheader-client-ca-file={pki.front_proxy_authority.certificate_file}",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-username-headers=X-Remote-User",
    ]


def kube_controller_manager(layout: Layout) -> list[str]:
    own = layout.kubeconfig(CONTROLLER_MANAGER)
    return [
        f"--kubeconfig={own}",
        *asking(own),
        f"--secure-port={layout.ports.controller_manager}",
        f"--bind-address={LOOPBACK}",
        *serving(layout.pki.server),
        "--leader-elect=false",
        "--use-service-account-credentials",  # its own user may not create ReplicaSets
        f"--service-account-private-key-file={layout.pki.service_account_key}",
        f"--root-ca-file={layout.pki.authority.certificate_file}",
        f"--controllers={','.join(CONTROLLERS)}",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
    ]


def kube_scheduler(layout: Layout) -> list[str]:
    return [
        f"--config={layout.home / 'scheduler.yaml'}",
        *asking(layout.kubeconfig(SCHEDULER)),
        f"--secure-port={layout.ports.scheduler}",
        f"--bind-address={LOOPBACK}",
        *serving(layout.pki.server),
    ]


def scheduler_configuration(layout: Layout) -> dict[str, object]:
    """Return the scheduler's configuration: its defaults, but quick and without elections."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "podMaxBackoffSeconds": 2,  # instead of ten: a pod that stays pending is known to stay so earlier
        "clientConnection": {"kubeconfig": str(layout.kubeconfig(SCHEDULER)), "qps": 500, "burst": 1000},
    }


def kwok(layout: Layout) -> list[str]:
    server = layout.pki.server
    return [
        f"--kubeconfig={layout.kubeconfig(ADMIN)}",
        f"--config={layout.home / 'kwok.yaml'}",
        f"--manage-nodes-with-annotation-selector={FAKE_NODE}",
        "--node-lease-duration-seconds=40",
        "--cidr=10.128.0.0/9",
        f"--node-ip={LOOPBACK}",
        f"--node-port={layout.ports.kwok}",
        f"--server-address={LOOPBACK}:{layout.ports.kwok}",
        f"--tls-cert-file={server.certificate_file}",
        f"--tls-private-key-file={server.key_file}",
    ]


def metrics_server(layout: Layout) -> list[str]:
    own = layout.kubeconfig(ADMIN)
    return [
        f"--kubeconfig={own}",
        *asking(own),
        f"--secure-port={layout.ports.metrics_server}",
        f"--bind-address={LOOPBACK}",
        *serving(layout.pki.server),
        "--kubelet-insecure-tls",
        "--kubelet-use-node-status-port",
        "--kubelet-preferred-address-types=InternalIP",
        "--kubelet-request-timeout=5s",
        "--metric-resolution=10s",  # must be longer than the timeout
    ]


def asking(kubeconfig: Path) -> list[str]:
    """Return the flags of a program that asks the API server who its callers are and what they may do."""
    return [f"--authentication-kubeconfig={kubeconfig}", f"--authorization-kubeconfig={kubeconfig}"]


def serving(pair: Pair) -> list[str]:
    return [f"--tls-cert-file={pair.certificate_file}", f"--tls-private-key-file={pair.key_file}"]
