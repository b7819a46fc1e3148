"""Which HTTP proxy to use: that of the kubeconfig, else what HTTPS_PROXY and NO_PROXY say, as Go programs read them."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from karpenter.runtime.kubehttp.connection import ConnectionSettingsError


def proxy_for(server: str, *, configured: str, environment: Mapping[str, str]) -> str:
    """Return the proxy's URL; empty for a direct connection, which this machine always gets.

    Raises:
        ConnectionSettingsError: the proxy is of a kind that we cannot use.
    """
    target = urlsplit(server)
    proxy = configured or _from_environment(target.scheme, target.hostname or "", environment)
    if not proxy:
        return ""
    if "://" not in proxy:
        proxy = f"http://{proxy}"
    if not proxy.startswith(("http://", "https://")):
        raise ConnectionSettingsError(f"proxy {proxy!r} for {server}: only http and https proxies can be used")
    return proxy


def _from_environment(scheme: str, host: str, environment: Mapping[str, str]) -> str:
    name = f"{scheme}_proxy"
    proxy = environment.get(name.upper()) or environment.get(name) or ""
    exceptions = environment.get("NO_PROXY") or environment.get("no_proxy") or ""
    if not proxy or _is_this_machine(host) or any(_covers(entry.strip(), host) for entry in exceptions.split(",")):
        return ""
    return proxy


def _covers(entry: str, host: str) -> bool:
    """Return whether an entry of NO_PROXY means the host: `*`, an address or network, a domain and what is under it."""
    if entry == "*":
        return True
    if not entry:
        return False
    address = _address(host)
    if address is not None:
        try:
            return address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    domain = entry.removeprefix("*").lower()
    return host == domain.removeprefix(".") or host.endswith(domain if domain.startswith(".") else f".{domain}")


def _is_this_machine(host: str) -> bool:
    address = _address(host)
    return address.is_loopback if address is not None else host == "localhost"


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
