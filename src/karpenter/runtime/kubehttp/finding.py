"""Where the connection comes from: a given kubeconfig, KUBECONFIG, the pod we run in, or the user's own kubeconfig."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from karpenter.runtime.kubehttp.connection import Connection, ConnectionSettingsError, Tls, User
from karpenter.runtime.kubehttp.kubeconfig import load_kubeconfig

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def find_connection(
    environment: Mapping[str, str],
    *,
    kubeconfig: Path | None = None,
    context: str = "",
    service_account: Path = SERVICE_ACCOUNT,
) -> Connection:
    """Return the first of: `kubeconfig`, the files in KUBECONFIG, the service account of our pod, `~/.kube/config`.

    Raises:
        ConnectionSettingsError: none is there, or the first one that is cannot be used.
    """
    if kubeconfig is not None:
        return load_kubeconfig([kubeconfig], context=context, environment=environment)
    listed = [Path(entry) for entry in environment.get("KUBECONFIG", "").split(os.pathsep) if entry]
    if listed:
        return load_kubeconfig(listed, context=context, environment=environment)
    if environment.get("KUBERNETES_SERVICE_HOST") and not context:
        return in_cluster(environment, service_account)
    own = Path(environment.get("HOME", "~")).expanduser() / ".kube" / "config"
    if own.exists():
        return load_kubeconfig([own], context=context, environment=environment)
    raise ConnectionSettingsError(
        f"no cluster to talk to: KUBECONFIG is not set, {own} does not exist and this is not a pod; name a kubeconfig"
    )


def in_cluster(environment: Mapping[str, str], service_account: Path = SERVICE_ACCOUNT) -> Connection:
    """Return the connection of the pod that we run in.

    Raises:
        ConnectionSettingsError: the service account is not mounted.
    """
    token, authorities = service_account / "token", service_account / "ca.crt"
    try:
        certificates = authorities.read_bytes()
        token.read_bytes()
    except OSError as error:
        raise ConnectionSettingsError(
            f"service account in {service_account}: {error.strerror}; does the pod set automountServiceAccountToken?"
        ) from error
    namespace = service_account / "namespace"
    host = environment["KUBERNETES_SERVICE_HOST"]
    port = environment.get("KUBERNETES_SERVICE_PORT_HTTPS") or environment.get("KUBERNETES_SERVICE_PORT") or "443"
    return Connection(
        server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        origin=f"service account in {service_account}",
        tls=Tls(certificates),
        user=User(token_file=token),
        namespace=namespace.read_text().strip() if namespace.exists() else "default",
    )
