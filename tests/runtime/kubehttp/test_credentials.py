"""Credentials that change: token files, plugins, what happens on 401."""

import asyncio
import json
import stat
import sys

import pytest

from karpenter.runtime.kube import PODS, Unauthorized
from karpenter.runtime.kubehttp import execplugin
from karpenter.runtime.kubehttp.connection import ExecPlugin, User
from tests.runtime.kubehttp.scripted_api import a_pod, a_reply, a_status

pytestmark = pytest.mark.real_time

V1 = "client.authentication.k8s.io/v1"


def tokens(api) -> list[str]:
    return [asked.headers.get("Authorization", "").removeprefix("Bearer ") for asked in api.asked]


async def look(client) -> None:
    await client.get(PODS, "a", namespace="web")


def ok(times: int = 1) -> list:
    return [a_reply(a_pod("a")) for _ in range(times)]


def refused() -> object:
    return a_status(401, "Unauthorized", "Unauthorized")


@pytest.fixture
def token_file(tmp_path):
    path = tmp_path / "token"
    path.write_text("first\n")
    return path


async def test_a_token_file_is_read_again_after_a_minute(api, make_client, swift, token_file) -> None:
    api.will(*ok(3))
    client = make_client(User(token="ignored", token_file=token_file))
    await look(client)
    token_file.write_text("second")
    await look(client)
    await swift.sleep(61)
    await look(client)
    assert tokens(api) == ["first", "first", "second"]


async def test_a_token_file_is_read_again_when_the_server_refuses_the_token(api, make_client, token_file) -> None:
    client = make_client(User(token_file=token_file))
    api.will(*ok(), refused(), *ok())
    await look(client)
    token_file.write_text("second")
    await look(client)
    assert tokens(api) == ["first", "first", "second"]


async def test_a_refused_token_that_has_not_changed_is_not_sent_again(api, make_client, token_file) -> None:
    api.will(refused(), *ok())
    with pytest.raises(Unauthorized):
        await look(make_client(User(token_file=token_file)))
    assert tokens(api) == ["first"]


async def test_a_missing_or_empty_token_file_is_named(make_client, token_file) -> None:
    token_file.write_text("")
    with pytest.raises(Unauthorized, match="token is empty"):
        await look(make_client(User(token_file=token_file)))
    token_file.unlink()
    with pytest.raises(Unauthorized, match="token cannot be read: No such file or directory"):
        await look(make_client(User(token_file=token_file)))


@pytest.fixture
def plugin(tmp_path):
    """Write a plugin that counts its runs and then does what `script` says; `run` is the number of the run."""

    def write(script: str, **options) -> ExecPlugin:
        runs, program = tmp_path / "runs", tmp_path / "plugin"
        program.write_text(
            f"#!{sys.executable}\nimport json, os, sys, time\n"
            f"with open({str(runs)!r}, 'a') as file: file.write('x')\n"
            f"run = os.path.getsize({str(runs)!r})\n"
            "def credential(**status): print(json.dumps({'apiVersion': "
            f"'{V1}', 'kind': 'ExecCredential', 'status': status}}))\n{script}\n"
        )
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        defaults = {"arguments": (), "api_version": V1, "environment": {"PATH": "/usr/bin:/bin"}}
        return ExecPlugin(command=str(program), **{**defaults, **options})

    return write


async def test_a_plugin_is_asked_once_and_its_token_kept_until_it_expires(api, make_client, swift, plugin) -> None:
    script = "credential(token=f'token-{run}', expirationTimestamp='2023-11-14T22:28:20Z' if run == 1 else None)"
    client = make_client(User(plugin=plugin(script)))
    api.will(*ok(4))
    await look(client)
    await swift.sleep(899)
    await look(client)
    await swift.sleep(1)
    await look(client)
    await swift.sleep(1e6)
    await look(client)
    assert tokens(api) == ["token-1", "token-1", "token-2", "token-2"]


async def test_a_plugin_is_asked_again_when_the_server_refuses_its_token(api, make_client, plugin) -> None:
    client = make_client(User(plugin=plugin("credential(token=f'token-{run}')")))
    api.will(*ok(), refused(), *ok())
    await look(client)
    await look(client)
    assert tokens(api) == ["token-1", "token-1", "token-2"]


async def test_a_second_refusal_is_final(api, make_client, plugin) -> None:
    client = make_client(User(plugin=plugin("credential(token=f'token-{run}')")))
    api.will(refused(), refused())
    with pytest.raises(Unauthorized):
        await look(client)
    assert tokens(api) == ["token-1", "token-2"]


async def test_requests_at_the_same_time_wait_for_one_run_of_the_plugin(api, make_client, plugin) -> None:
    client = make_client(User(plugin=plugin("credential(token=f'token-{run}')")))
    api.will(*ok(5))
    await asyncio.gather(*[look(client) for _ in range(5)])
    assert tokens(api) == ["token-1"] * 5


async def test_a_plugin_is_told_what_is_wanted(api, make_client, plugin, tmp_path) -> None:
    write = f"open({str(tmp_path / 'info')!r}, 'w').write(os.environ['KUBERNETES_EXEC_INFO'])"
    script = f"{write}; credential(token=sys.argv[1])"
    settings = plugin(script, arguments=("from-argument",), cluster_info={"server": "https://dev"})
    api.will(*ok())
    await look(make_client(User(plugin=settings)))
    assert tokens(api) == ["from-argument"]
    assert json.loads((tmp_path / "info").read_text()) == {
        "apiVersion": V1,
        "kind": "ExecCredential",
        "spec": {"interactive": False, "cluster": {"server": "https://dev"}},
    }


@pytest.mark.parametrize(
    "script, words",
    [
        ("sys.exit('you must log in first')", r"ended with code 1 \(you must log in first\)"),
        ("print('hello')", "printed no ExecCredential: JSON is malformed"),
        ("credential()", "printed neither a token nor a client certificate"),
        ("credential(clientCertificateData='x')", "only one of clientCertificateData and clientKeyData"),
        ("credential(token='t', expirationTimestamp='soon')", "printed no ExecCredential: Invalid isoformat"),
        (
            "print(json.dumps({'apiVersion': 'client.authentication.k8s.io/v1beta1', 'kind': 'ExecCredential'}))",
            "printed client.authentication.k8s.io/v1beta1 ExecCredential, not client.authentication.k8s.io/v1",
        ),
    ],
)
async def test_a_plugin_that_fails_is_quoted(make_client, plugin, script, words) -> None:
    with pytest.raises(Unauthorized, match=words):
        await look(make_client(User(plugin=plugin(script))))


async def test_a_plugin_that_is_not_installed_comes_with_its_hint(make_client) -> None:
    missing = ExecPlugin("no-such-program", (), V1, {}, install_hint="get it from the shop")
    with pytest.raises(Unauthorized, match=r"cannot be started: No such file or directory \(get it from the shop\)"):
        await look(make_client(User(plugin=missing)))


async def test_a_failed_plugin_is_asked_again_next_time(api, make_client, plugin) -> None:
    client = make_client(User(plugin=plugin("sys.exit(1) if run == 1 else credential(token='t')")))
    with pytest.raises(Unauthorized):
        await look(client)
    api.will(*ok())
    await look(client)
    assert tokens(api) == ["t"]


async def test_a_plugin_that_hangs_is_ended(make_client, plugin, monkeypatch) -> None:
    monkeypatch.setattr(execplugin, "PLUGIN_TIMEOUT_S", 0.3)
    with pytest.raises(Unauthorized, match=r"did not answer within 0\.3 s"):
        await look(make_client(User(plugin=plugin("time.sleep(60)"))))


async def test_a_plugin_that_runs_when_the_client_closes_is_ended(make_client, plugin) -> None:
    client = make_client(User(plugin=plugin("time.sleep(60)")))
    looking = asyncio.create_task(look(client))
    await asyncio.sleep(0.1)
    looking.cancel()
    async with asyncio.timeout(5):
        await client.close()


async def test_a_caller_that_gives_up_does_not_take_the_answer_from_the_others(api, make_client, plugin) -> None:
    client = make_client(User(plugin=plugin("credential(token=f'token-{run}')")))
    api.will(*ok())
    first, second = asyncio.create_task(look(client)), asyncio.create_task(look(client))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    first.cancel()
    await second
    assert tokens(api) == ["token-1"]
