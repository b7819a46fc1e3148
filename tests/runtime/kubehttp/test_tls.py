"""TLS: whom the client believes, and the certificate it shows."""

import dataclasses
import json
import os
import ssl
import tempfile

import pytest

from karpenter.model.units import UnixSeconds, to_rfc3339
from karpenter.runtime.kube import PODS, KubeError
from karpenter.runtime.kubehttp import Connection
from karpenter.runtime.kubehttp.connection import ConnectionSettingsError, ExecPlugin, Tls, User
from tests.runtime.kubehttp.certificates import Authority
from tests.runtime.kubehttp.scripted_api import ScriptedApi, a_pod, a_reply, serving

pytestmark = pytest.mark.real_time


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture
def server_context(authority, tmp_path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    pair = authority.sign("server", dns=("kubernetes",), addresses=("127.0.0.1",))
    context.load_cert_chain(*pair.save(tmp_path, "server"))
    (tmp_path / "ca.crt").write_bytes(authority.certificate)
    context.load_verify_locations(tmp_path / "ca.crt")
    context.verify_mode = ssl.CERT_OPTIONAL
    return context


@pytest.fixture
async def secure(server_context):
    """A server that answers with the name in the certificate that the client shows."""

    async def who(request):
        shown = request.transport.get_extra_info("peercert")
        name = dict(part[0] for part in shown["subject"])["commonName"] if shown else "nobody"
        return a_reply(a_pod(name))

    async with serving(ScriptedApi(), tls=server_context) as api:
        api.will(*[who] * 10)
        yield api


async def shown_name(make_client, api, tls: Tls, user: User | None = None) -> str:
    client = make_client(connection=Connection(server=api.url, origin="a test", tls=tls, user=user or User()))
    return (await client.get(PODS, "x", namespace="web")).metadata.name


async def test_a_server_whose_authority_is_known_is_believed(make_client, secure, authority) -> None:
    assert await shown_name(make_client, secure, Tls(authority.certificate)) == "nobody"


async def test_a_server_of_another_authority_is_refused_at_once_and_in_words(make_client, secure, swift) -> None:
    with pytest.raises(KubeError, match=r"no trusted connection: .*check certificate-authority"):
        await shown_name(make_client, secure, Tls(Authority("another").certificate))
    with pytest.raises(KubeError, match="no trusted connection"):
        await shown_name(make_client, secure, Tls())
    assert (secure.asked, swift.waits) == ([], [])


async def test_anybody_is_believed_when_so_told(make_client, secure) -> None:
    assert await shown_name(make_client, secure, Tls(insecure=True)) == "nobody"


async def test_the_certificate_may_have_another_name_than_the_url(make_client, secure, authority) -> None:
    assert await shown_name(make_client, secure, Tls(authority.certificate, server_name="kubernetes")) == "nobody"
    with pytest.raises(KubeError, match="no trusted connection"):
        await shown_name(make_client, secure, Tls(authority.certificate, server_name="elsewhere"))


async def test_the_client_shows_its_certificate_and_leaves_no_key_behind(
    make_client, secure, authority, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "keys"))
    os.mkdir(tmp_path / "keys")
    pair = authority.sign("admin")
    user = User(certificate=pair.certificate, key=pair.key)
    assert await shown_name(make_client, secure, Tls(authority.certificate), user) == "admin"
    assert os.listdir(tmp_path / "keys") == []


async def test_a_plugin_may_print_a_certificate_and_later_another_one(
    make_client, secure, authority, swift, tmp_path
) -> None:
    printed = tmp_path / "printed"
    plugin = ExecPlugin("/bin/cat", (str(printed),), "client.authentication.k8s.io/v1", {})

    def will_print(name: str) -> None:
        pair = authority.sign(name)
        status = {
            "clientCertificateData": pair.certificate.decode(),
            "clientKeyData": pair.key.decode(),
            "expirationTimestamp": to_rfc3339(UnixSeconds(swift.now() + 60)),
        }
        credential = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
        printed.write_text(json.dumps(credential))

    connection = Connection(secure.url, "a test", tls=Tls(authority.certificate), user=User(plugin=plugin))
    client = make_client(connection=connection)
    names = []
    for name in ("first", "second"):
        will_print(name)
        names.append((await client.get(PODS, "x", namespace="web")).metadata.name)
        await swift.sleep(61)
    assert names == ["first", "second"]


async def test_a_certificate_and_a_key_that_do_not_fit_are_named(make_client, secure, authority) -> None:
    user = User(certificate=authority.sign("admin").certificate, key=authority.sign("admin").key)
    with pytest.raises(ConnectionSettingsError, match="client-certificate and client-key do not fit together"):
        await shown_name(make_client, secure, Tls(authority.certificate), user)


async def test_an_authority_that_is_no_certificate_is_named(make_client, secure) -> None:
    with pytest.raises(ConnectionSettingsError, match="certificate-authority holds no PEM certificate"):
        await shown_name(make_client, secure, Tls(b"text"))


async def test_a_plain_server_needs_no_certificate(api, make_client) -> None:
    api.will(a_reply(a_pod("x")))
    connection = Connection(server=api.url, origin="a test")
    client = make_client(connection=dataclasses.replace(connection, tls=Tls(b"not looked at")))
    assert (await client.get(PODS, "x", namespace="web")).metadata.name == "x"
