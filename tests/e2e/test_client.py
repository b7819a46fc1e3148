"""Our client against a real API server: what only a real one does. What every server does is in the client suite."""

import asyncio
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from karpenter.runtime.kube import CONFIG_MAPS, NODES, PODS, Forbidden, Unauthorized
from karpenter.runtime.kubehttp import HttpKubeClient
from tests.e2e.pki import ADMIN, NOBODY
from tests.e2e.plane import ControlPlane, connect
from tests.e2e.pods import config_maps, create_all, until
from tests.e2e.programs import write_kubeconfig

pytestmark = pytest.mark.real_time


async def map_names(kube: HttpKubeClient, namespace: str) -> list[str]:
    listing = await kube.list(CONFIG_MAPS, namespace=namespace)
    return [each["metadata"]["name"] for each in listing.items if each["metadata"]["name"] != "kube-root-ca.crt"]


async def test_a_list_of_several_pages_is_whole(kube: HttpKubeClient, namespace: str) -> None:
    names = [f"map-{number:04}" for number in range(1_100)]
    await create_all(kube, config_maps(namespace, names))
    assert await map_names(kube, namespace) == names


async def test_an_unknown_token_is_unauthorized(plane: ControlPlane, tmp_path: Path) -> None:
    stranger = connect(write_kubeconfig(plane.layout, tmp_path / "config", {"token": "made-up"}))
    with pytest.raises(Unauthorized):
        await stranger.list(NODES)
    await stranger.close()


async def test_what_a_user_may_not_do_is_forbidden(plane: ControlPlane) -> None:
    nobody = connect(plane.kubeconfig(NOBODY))
    with pytest.raises(Forbidden, match='nodes is forbidden: User "nobody" cannot list resource "nodes"'):
        await nobody.list(NODES)
    await nobody.close()


async def test_a_client_certificate_is_accepted(plane: ControlPlane, tmp_path: Path) -> None:
    pair = plane.layout.pki.admin
    files = {"client-certificate": str(pair.certificate_file), "client-key": str(pair.key_file)}
    client = connect(write_kubeconfig(plane.layout, tmp_path / "config", files))
    assert (await client.list(NODES)).resource_version
    await client.close()


async def test_a_token_file_is_read_again_when_its_token_was_revoked(
    plane: ControlPlane, namespace: str, kube: HttpKubeClient, tmp_path: Path
) -> None:
    """As for a pod whose token is renewed: the server stops to accept the old one, the client does not notice."""
    token_file = tmp_path / "token"
    renew(plane, namespace, "old", token_file)
    client = connect(write_kubeconfig(plane.layout, tmp_path / "config", {"tokenFile": str(token_file)}))
    revoked = connect(
        write_kubeconfig(plane.layout, tmp_path / "old-config", {"token": token_file.read_text(encoding="utf-8")})
    )
    await client.list(PODS, namespace=namespace)

    plane.kubectl("delete", "serviceaccount", "old", f"--namespace={namespace}")
    renew(plane, namespace, "new", token_file)
    await until(lambda: is_unauthorized(revoked, namespace), "the old token is refused")
    await client.list(PODS, namespace=namespace)
    await client.close()
    await revoked.close()


def renew(plane: ControlPlane, namespace: str, account: str, token_file: Path) -> None:
    """Write the token of a new service account, which may look at everything in its namespace."""
    here = f"--namespace={namespace}"
    plane.kubectl("create", "serviceaccount", account, here)
    subject = f"--serviceaccount={namespace}:{account}"
    plane.kubectl("create", "rolebinding", account, "--clusterrole=view", subject, here)
    token_file.write_text(plane.kubectl("create", "token", account, here).strip(), encoding="utf-8")


async def is_unauthorized(client: HttpKubeClient, namespace: str) -> bool:
    try:
        await client.list(PODS, namespace=namespace)
    except Unauthorized:
        return True
    return False


async def test_a_credential_plugin_is_asked_again_when_its_token_is_refused(
    plane: ControlPlane, tmp_path: Path
) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"stale\n{ADMIN.token}\n", encoding="utf-8")
    plugin = tmp_path / "plugin.py"
    plugin.write_text(
        dedent(f"""\
            import json, pathlib
            tokens = pathlib.Path({str(tokens)!r})
            first, *rest = tokens.read_text().split()
            tokens.write_text("\\n".join(rest))
            kind = {{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential"}}
            print(json.dumps({{**kind, "status": {{"token": first}}}}))
            """),
        encoding="utf-8",
    )
    call = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": sys.executable,
        "args": [str(plugin)],
        "interactiveMode": "Never",
    }
    client = connect(write_kubeconfig(plane.layout, tmp_path / "config", {"exec": call}))
    assert (await client.list(NODES)).resource_version
    assert tokens.read_text(encoding="utf-8") == ""
    await client.close()


@pytest.mark.full  # the server sends one a minute
async def test_a_bookmark_moves_a_quiet_watch_forward(kube: HttpKubeClient, namespace: str) -> None:
    start = (await kube.list(CONFIG_MAPS, namespace=namespace)).resource_version
    async with asyncio.timeout(150):
        async for event in kube.watch(CONFIG_MAPS, namespace=namespace, resource_version=start):
            assert (event.type, event.object) == ("BOOKMARK", None)
            assert int(event.resource_version) >= int(start)
            break
