"""The server itself: identity, port, kubeconfig."""

import socket
import stat
from pathlib import Path

import pytest
import yaml

from karpenter.runtime.clock import WallClock
from karpenter.runtime.kubememory import MemoryStore
from karpenter.sim.apiserver import ApiServer, ApiServerError
from tests.sim.apiserver.conftest import Http

pytestmark = pytest.mark.real_time


async def test_a_kubeconfig_is_all_that_a_client_needs(http) -> None:
    config = yaml.safe_load(http.server.kubeconfig())
    assert config["current-context"] == config["contexts"][0]["name"]
    assert config["clusters"][0]["cluster"]["server"] == f"https://127.0.0.1:{http.server.port}"
    assert (await http.get("/api/v1/nodes")).status == 200


async def test_with_a_data_folder_a_kubeconfig_survives_a_restart(tmp_path: Path) -> None:
    store = MemoryStore(WallClock())
    first = ApiServer(store, data_dir=tmp_path)
    await first.start()
    config = first.kubeconfig()
    await first.stop()
    second = ApiServer(store, data_dir=tmp_path)
    await second.start()
    try:
        assert second.kubeconfig() == config
        async with Http(second, store).session() as http:
            assert (await http.get("/api/v1/nodes")).status == 200
    finally:
        await second.stop()


async def test_secrets_in_the_data_folder_are_their_owners_alone(tmp_path: Path) -> None:
    ApiServer(MemoryStore(WallClock()), data_dir=tmp_path / "new")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "new").iterdir()}
    assert modes == dict.fromkeys(("ca.crt", "server.crt", "server.key", "token"), 0o600)


async def test_every_server_has_a_token_of_its_own() -> None:
    store = MemoryStore(WallClock())
    tokens = {yaml.safe_load(ApiServer(store).kubeconfig())["users"][0]["user"]["token"] for _ in range(3)}
    assert len(tokens) == 3


async def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ApiServerError, match=rf"cannot listen on 127\.0\.0\.1:{port} .* choose another port"):
            await ApiServer(MemoryStore(WallClock()), port=port).start()


async def test_a_server_that_was_not_started_can_be_stopped() -> None:
    await ApiServer(MemoryStore(WallClock())).stop()
