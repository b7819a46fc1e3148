"""Kubeconfig files: found as kubectl finds them, merged, and turned into a `Connection`."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

import msgspec
import yaml

from karpenter.runtime.kubehttp.connection import Connection, ConnectionSettingsError, ExecPlugin, Tls, User
from karpenter.runtime.kubehttp.decoding import without_nulls
from karpenter.runtime.kubehttp.proxies import proxy_for

EXEC_API_VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Cluster(msgspec.Struct, frozen=True, rename="kebab"):
    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""


class _Variable(msgspec.Struct, frozen=True):
    name: str
    value: str = ""


class _Exec(msgspec.Struct, frozen=True, rename="camel"):
    command: str
    api_version: str = ""
    args: tuple[str, ...] = ()
    env: tuple[_Variable, ...] = ()
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = "IfAvailable"


class _User(msgspec.Struct, frozen=True, rename="kebab"):
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(name="tokenFile", default="")
    username: str = ""
    password: str = ""
    impersonate: str = msgspec.field(name="as", default="")
    impersonate_uid: str = msgspec.field(name="as-uid", default="")
    impersonate_groups: tuple[str, ...] = msgspec.field(name="as-groups", default=())
    impersonate_extra: dict[str, tuple[str, ...]] = msgspec.field(name="as-user-extra", default={})
    exec: _Exec | None = None
    auth_provider: dict[str, object] | None = None


class _Context(msgspec.Struct, frozen=True):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(msgspec.Struct, frozen=True):
    name: str
    cluster: _Cluster = _Cluster()


class _NamedUser(msgspec.Struct, frozen=True):
    name: str
    user: _User = _User()


class _NamedContext(msgspec.Struct, frozen=True):
    name: str
    context: _Context = _Context()


class _File(msgspec.Struct, frozen=True, rename="kebab"):
    current_context: str = ""
    clusters: tuple[_NamedCluster, ...] = ()
    users: tuple[_NamedUser, ...] = ()
    contexts: tuple[_NamedContext, ...] = ()


Entry = TypeVar("Entry")


class _Merged:
    """All files together. Of entries with one name the first wins; each remembers its file, which paths start from."""

    def __init__(self) -> None:
        self.files: list[Path] = []
        self.current_context = ""
        self.clusters: dict[str, tuple[_Cluster, Path]] = {}
        self.users: dict[str, tuple[_User, Path]] = {}
        self.contexts: dict[str, tuple[_Context, Path]] = {}

    def add(self, file: _File, path: Path) -> None:
        self.files.append(path)
        self.current_context = self.current_context or file.current_context
        for cluster in file.clusters:
            self.clusters.setdefault(cluster.name, (cluster.cluster, path))
        for user in file.users:
            self.users.setdefault(user.name, (user.user, path))
        for context in file.contexts:
            self.contexts.setdefault(context.name, (context.context, path))


def load_kubeconfig(paths: Sequence[Path], *, context: str, environment: Mapping[str, str]) -> Connection:
    """Return the connection of a context, the current one when `context` is empty. Files that do not exist are skipped.

    Raises:
        ConnectionSettingsError: a file cannot be read, or the context does not lead to a usable connection.
    """
    merged = _Merged()
    for path in paths:
        if path.exists():
            merged.add(_read(path), path)
    names = ", ".join(str(path) for path in merged.files or paths)
    if not merged.files:
        raise ConnectionSettingsError(f"kubeconfig {names}: no such file")
    name = context or merged.current_context
    if not name:
        raise ConnectionSettingsError(f"kubeconfig {names}: current-context is not set; choose one of its contexts")
    chosen, path = _find(merged.contexts, name, what="context", where=names)
    cluster, cluster_path = _find(merged.clusters, chosen.cluster, what="cluster", where=f"{path}, context {name}")
    user, user_path = (
        _find(merged.users, chosen.user, what="user", where=f"{path}, context {name}")
        if chosen.user
        else (_User(), path)
    )
    tls = _tls(cluster, _Place(cluster_path, f"cluster {chosen.cluster}"))
    place = _Place(user_path, f"user {chosen.user}")
    server = cluster.server.rstrip("/")
    if not server.startswith(("https://", "http://")):
        raise ConnectionSettingsError(
            f"{cluster_path}, cluster {chosen.cluster}: server {server!r} is not an http(s) URL"
        )
    return Connection(
        server=server,
        origin=f"context {name} of {path}",
        tls=tls,
        user=_as_user(user, place, plugin=_plugin(user, place, environment=environment, cluster=cluster, tls=tls)),
        proxy=proxy_for(server, configured=cluster.proxy_url, environment=environment),
        namespace=chosen.namespace or "default",
    )


class _Place:
    """Where a setting stands: a file and an entry in it."""

    def __init__(self, path: Path, entry: str) -> None:
        self.path = path
        self.entry = entry

    def error(self, text: str) -> ConnectionSettingsError:
        return ConnectionSettingsError(f"kubeconfig {self.path}, {self.entry}: {text}")

    def resolve(self, path: str) -> Path:
        """Return the path, which is relative to the file that names it."""
        return self.path.parent / Path(path).expanduser()

    def content(self, field: str, *, data: str, file: str) -> bytes:
        """Return what `<field>-data` holds, else what the file in `<field>` does; empty when neither is given."""
        if data:
            try:
                return base64.b64decode(data, validate=True)
            except binascii.Error as error:
                raise self.error(f"{field}-data is not base64") from error
        if not file:
            return b""
        try:
            return self.resolve(file).read_bytes()
        except OSError as error:
            raise self.error(f"{field} {file!r} cannot be read: {error.strerror}") from error


def _read(path: Path) -> _File:
    try:
        content = yaml.load(path.read_bytes(), Loader=_LOADER)  # noqa: S506 - one of the two safe loaders
        return msgspec.convert(without_nulls(content or {}), _File)
    except OSError as error:
        raise ConnectionSettingsError(f"kubeconfig {path} cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, msgspec.ValidationError) as error:
        raise ConnectionSettingsError(f"kubeconfig {path}: {' '.join(str(error).split())}") from error


def _find(entries: Mapping[str, tuple[Entry, Path]], name: str, *, what: str, where: str) -> tuple[Entry, Path]:
    if name not in entries:
        known = ", ".join(sorted(entries)) or "none"
        raise ConnectionSettingsError(f"kubeconfig {where}: there is no {what} {name!r} (there are: {known})")
    return entries[name]


def _tls(cluster: _Cluster, place: _Place) -> Tls:
    authorities = place.content(
        "certificate-authority", data=cluster.certificate_authority_data, file=cluster.certificate_authority
    )
    if cluster.insecure_skip_tls_verify and authorities:
        raise place.error("insecure-skip-tls-verify and a certificate authority exclude each other; remove one")
    return Tls(authorities, cluster.insecure_skip_tls_verify, cluster.tls_server_name)


def _as_user(user: _User, place: _Place, *, plugin: ExecPlugin | None) -> User:
    if user.auth_provider is not None:
        name = user.auth_provider.get("name", "")
        raise place.error(f"auth-provider {name!r} was removed from Kubernetes in 1.26; use its exec plugin instead")
    certificate = place.content("client-certificate", data=user.client_certificate_data, file=user.client_certificate)
    key = place.content("client-key", data=user.client_key_data, file=user.client_key)
    if bool(certificate) != bool(key):
        raise place.error("client-certificate and client-key belong together; one of them is missing")
    return User(
        token=user.token,
        token_file=place.resolve(user.token_file) if user.token_file else None,
        certificate=certificate,
        key=key,
        username=user.username,
        password=user.password,
        plugin=plugin,
        impersonation=_impersonation(user),
    )


def _impersonation(user: _User) -> tuple[tuple[str, str], ...]:
    headers = [("Impersonate-User", user.impersonate), ("Impersonate-Uid", user.impersonate_uid)]
    headers += [("Impersonate-Group", group) for group in user.impersonate_groups]
    headers += [
        (f"Impersonate-Extra-{key}", value) for key, values in user.impersonate_extra.items() for value in values
    ]
    return tuple((name, value) for name, value in headers if value)


def _plugin(
    user: _User, place: _Place, *, environment: Mapping[str, str], cluster: _Cluster, tls: Tls
) -> ExecPlugin | None:
    plugin = user.exec
    if plugin is None:
        return None
    if plugin.api_version not in EXEC_API_VERSIONS:
        expected = " or ".join(EXEC_API_VERSIONS)
        raise place.error(
            f"exec.apiVersion is {plugin.api_version!r}; {expected} is needed, update the plugin's settings"
        )
    if plugin.interactive_mode == "Always":
        raise place.error(
            "exec.interactiveMode is Always, but nobody is there to answer; use a plugin that needs no input"
        )
    # A command with a slash is relative to the file; a bare name is looked up in PATH.
    command = str(place.resolve(plugin.command)) if "/" in plugin.command else plugin.command
    return ExecPlugin(
        command=command,
        arguments=plugin.args,
        api_version=plugin.api_version,
        environment={**environment, **{variable.name: variable.value for variable in plugin.env}},
        install_hint=plugin.install_hint,
        cluster_info=_cluster_info(cluster, tls) if plugin.provide_cluster_info else None,
    )


def _cluster_info(cluster: _Cluster, tls: Tls) -> dict[str, object]:
    info: dict[str, object] = {
        "server": cluster.server,
        "tls-server-name": tls.server_name,
        "insecure-skip-tls-verify": tls.insecure,
        "certificate-authority-data": base64.b64encode(tls.authorities).decode(),
        "proxy-url": cluster.proxy_url,
    }
    return {key: value for key, value in info.items() if value}
