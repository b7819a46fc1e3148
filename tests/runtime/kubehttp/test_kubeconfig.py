"""Finding and reading connection settings: merged files, relative paths, clear words for what is wrong."""

import base64
import os
from pathlib import Path

import pytest
import yaml

from karpenter.runtime.kubehttp import find_connection
from karpenter.runtime.kubehttp.connection import Connection, ConnectionSettingsError, ExecPlugin, Tls, User

PEM = b"-----BEGIN CERTIFICATE-----\n"


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def a_config(*, name: str = "dev", current: str = "dev", cluster=None, user=None, context=None) -> dict:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "preferences": {},
        "current-context": current,
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}:6443", **(cluster or {})}}],
        "users": [{"name": name, "user": {"token": "secret"} if user is None else user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, **(context or {})}}],
    }


@pytest.fixture
def write(tmp_path):
    def write(content: dict | str, name: str = "config") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
        return path

    return write


def find(path: Path, **options) -> Connection:
    return find_connection({}, kubeconfig=path, **options)


def test_the_current_context_names_cluster_user_and_namespace(write) -> None:
    path = write(a_config(cluster={"certificate-authority-data": b64(PEM)}, context={"namespace": "web"}))
    assert find(path) == Connection(
        server="https://dev:6443",
        origin=f"context dev of {path}",
        tls=Tls(PEM),
        user=User(token="secret"),
        namespace="web",
    )


def test_another_context_can_be_asked_for(write) -> None:
    config, other = a_config(), a_config(name="prod")
    for part in ("clusters", "users", "contexts"):
        config[part] += other[part]
    assert find(write(config), context="prod").server == "https://prod:6443"


def test_files_in_kubeconfig_are_merged_and_the_first_of_one_name_wins(write) -> None:
    first = write({**a_config(user={"token": "first"}), "current-context": ""}, "a/config")
    second = write(a_config(user={"token": "second"}, name="dev"), "b/config")
    environment = {"KUBECONFIG": os.pathsep.join(["", "/does/not/exist", str(first), str(second)])}
    assert find_connection(environment).user.token == "first"


def test_a_context_may_name_a_user_of_another_file(write) -> None:
    first = a_config()
    users = {"users": first.pop("users")}
    environment = {"KUBECONFIG": os.pathsep.join([str(write(first, "a")), str(write(users, "b"))])}
    assert find_connection(environment).user.token == "secret"


def test_paths_are_relative_to_the_file_that_names_them(write, tmp_path) -> None:
    write("the authority", "pki/ca.crt")
    write("the certificate", "pki/me.crt")
    write("the key", "pki/me.key")
    user = {"client-certificate": "pki/me.crt", "client-key": "pki/me.key", "tokenFile": "token"}
    connection = find(write(a_config(cluster={"certificate-authority": "pki/ca.crt"}, user=user)))
    assert connection.tls.authorities == b"the authority"
    assert connection.user == User(certificate=b"the certificate", key=b"the key", token_file=tmp_path / "token")


def test_tls_settings_are_read(write) -> None:
    cluster = {"insecure-skip-tls-verify": True, "tls-server-name": "kubernetes"}
    assert find(write(a_config(cluster=cluster))).tls == Tls(insecure=True, server_name="kubernetes")


def test_nulls_as_some_tools_write_them_are_nothing(write) -> None:
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "aws", "args": None, "env": None}}
    config = {**a_config(user=user), "extensions": None, "preferences": None}
    plugin = find(write(config)).user.plugin
    assert plugin == ExecPlugin("aws", (), "client.authentication.k8s.io/v1beta1", {})


def test_a_plugin_gets_our_environment_and_its_own_and_the_cluster_if_it_asks(write, tmp_path) -> None:
    user = {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": "./bin/token",
            "args": ["--cluster", "dev"],
            "env": [{"name": "AWS_PROFILE", "value": "dev"}],
            "installHint": "install it",
            "interactiveMode": "Never",
            "provideClusterInfo": True,
        }
    }
    path = write(a_config(cluster={"certificate-authority-data": b64(PEM)}, user=user))
    assert find_connection({"PATH": "/bin", "AWS_PROFILE": "prod"}, kubeconfig=path).user.plugin == ExecPlugin(
        command=str(tmp_path / "bin/token"),
        arguments=("--cluster", "dev"),
        api_version="client.authentication.k8s.io/v1",
        environment={"PATH": "/bin", "AWS_PROFILE": "dev"},
        install_hint="install it",
        cluster_info={"server": "https://dev:6443", "certificate-authority-data": b64(PEM)},
    )


def test_impersonation_becomes_headers(write) -> None:
    user = {"as": "jane", "as-uid": "7", "as-groups": ["dev", "ops"], "as-user-extra": {"reason": ["test"]}}
    assert find(write(a_config(user=user))).user.impersonation == (
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "dev"),
        ("Impersonate-Group", "ops"),
        ("Impersonate-Extra-reason", "test"),
    )


@pytest.mark.parametrize(
    "config, words",
    [
        (a_config(current=""), "current-context is not set"),
        (a_config(current="prod"), r"there is no context 'prod' \(there are: dev\)"),
        ({**a_config(), "clusters": []}, r"context dev: there is no cluster 'dev' \(there are: none\)"),
        ({**a_config(), "users": []}, r"context dev: there is no user 'dev' \(there are: none\)"),
        (a_config(cluster={"server": "dev:6443"}), r"cluster dev: server 'dev:6443' is not an http\(s\) URL"),
        (a_config(cluster={"certificate-authority-data": "%"}), "certificate-authority-data is not base64"),
        (a_config(cluster={"certificate-authority": "no"}), "certificate-authority 'no' cannot be read: No such file"),
        (
            a_config(cluster={"certificate-authority-data": b64(PEM), "insecure-skip-tls-verify": True}),
            "insecure-skip-tls-verify and a certificate authority exclude each other",
        ),
        (a_config(cluster={"proxy-url": "socks5://proxy:1080"}), "only http and https proxies can be used"),
        (a_config(user={"client-certificate-data": b64(PEM)}), "client-certificate and client-key belong together"),
        (a_config(user={"auth-provider": {"name": "gcp"}}), "auth-provider 'gcp' was removed .* use its exec plugin"),
        (
            a_config(user={"exec": {"apiVersion": "client.authentication.k8s.io/v1alpha1", "command": "aws"}}),
            "exec.apiVersion is 'client.authentication.k8s.io/v1alpha1'",
        ),
        (
            a_config(
                user={
                    "exec": {
                        "apiVersion": "client.authentication.k8s.io/v1",
                        "command": "x",
                        "interactiveMode": "Always",
                    }
                }
            ),
            "interactiveMode is Always",
        ),
        ({"clusters": [{"cluster": {}}]}, r"Object missing required field `name` - at `\$.clusters\[0\]`"),
        ("a: [", "while parsing a flow node"),
        ("just text", "Expected `object`, got `str`"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_place(write, config, words) -> None:
    path = write(config)
    with pytest.raises(ConnectionSettingsError, match=words) as caught:
        find(path)
    assert str(path) in str(caught.value) or "proxy" in str(caught.value)


def test_secrets_are_not_shown(write) -> None:
    user = {
        "token": "s3cret",
        "password": "s3cret",
        "client-key-data": b64(b"s3cret"),
        "client-certificate-data": b64(PEM),
    }
    assert "s3cret" not in repr(find(write(a_config(user=user))))


def test_a_file_that_is_asked_for_must_exist(tmp_path) -> None:
    with pytest.raises(ConnectionSettingsError, match="no such file"):
        find(tmp_path / "config")


def test_in_a_pod_the_service_account_is_used(tmp_path) -> None:
    for name, content in (("token", "t"), ("ca.crt", "authority"), ("namespace", "kube-system\n")):
        (tmp_path / name).write_text(content)
    environment = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443", "HOME": str(tmp_path)}
    assert find_connection(environment, service_account=tmp_path) == Connection(
        server="https://10.0.0.1:443",
        origin=f"service account in {tmp_path}",
        tls=Tls(b"authority"),
        user=User(token_file=tmp_path / "token"),
        namespace="kube-system",
    )
    environment["KUBERNETES_SERVICE_HOST"] = "fd00::1"
    assert find_connection(environment, service_account=tmp_path).server == "https://[fd00::1]:443"


def test_a_pod_without_a_mounted_service_account_is_told_so(tmp_path) -> None:
    with pytest.raises(ConnectionSettingsError, match="automountServiceAccountToken"):
        find_connection({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, service_account=tmp_path)


def test_outside_of_a_pod_the_users_own_file_is_used(write, tmp_path) -> None:
    write(a_config(), ".kube/config")
    assert find_connection({"HOME": str(tmp_path)}).server == "https://dev:6443"


def test_without_any_settings_the_user_is_told_what_to_do(tmp_path) -> None:
    with pytest.raises(ConnectionSettingsError, match="no cluster to talk to: KUBECONFIG is not set"):
        find_connection({"HOME": str(tmp_path)})


@pytest.mark.parametrize(
    "server, environment, proxy",
    [
        ("https://k8s.example.com", {}, ""),
        ("https://k8s.example.com", {"HTTPS_PROXY": "http://proxy:3128"}, "http://proxy:3128"),
        ("https://k8s.example.com", {"https_proxy": "proxy:3128"}, "http://proxy:3128"),
        ("http://k8s.example.com", {"HTTPS_PROXY": "http://proxy:3128"}, ""),
        ("https://localhost:6443", {"HTTPS_PROXY": "http://proxy:3128"}, ""),
        ("https://127.0.0.1:6443", {"HTTPS_PROXY": "http://proxy:3128"}, ""),
        ("https://k8s.example.com", {"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "a.com, .example.com"}, ""),
        ("https://k8s.example.com", {"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "example.com"}, ""),
        ("https://k8s.example.com", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "ample.com"}, "http://p:1"),
        ("https://k8s.example.com", {"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "*"}, ""),
        ("https://10.1.2.3", {"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "10.0.0.0/8"}, ""),
        ("https://10.1.2.3", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "10.1.2.4,x"}, "http://p:1"),
    ],
)
def test_the_environments_proxy_is_used_as_go_programs_do(write, server, environment, proxy) -> None:
    path = write(a_config(cluster={"server": server}))
    assert find_connection(environment, kubeconfig=path).proxy == proxy


def test_the_kubeconfigs_proxy_wins(write) -> None:
    path = write(a_config(cluster={"proxy-url": "http://mine:1"}))
    assert find_connection({"HTTPS_PROXY": "http://other:1"}, kubeconfig=path).proxy == "http://mine:1"
