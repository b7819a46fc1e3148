"""The demo's kubeconfig never replaces one of somebody else's, and keeps what its user chose in it."""

import stat
from pathlib import Path

import pytest
import yaml

from karpenter.app.embedded.kubeconfigs import write_kubeconfig
from karpenter.app.errors import SettingsError


def a_kubeconfig(token: str = "a", cluster: str = "demo", namespace: str = "default") -> str:
    return yaml.safe_dump(
        {
            "clusters": [{"name": cluster, "cluster": {"server": "https://127.0.0.1:1"}}],
            "users": [{"name": cluster, "user": {"token": token}}],
            "contexts": [{"name": cluster, "context": {"cluster": cluster, "namespace": namespace}}],
        }
    )


def test_it_is_written_for_its_owner_alone_into_folders_that_are_made(tmp_path: Path) -> None:
    path = tmp_path / "new" / "kubeconfig"
    write_kubeconfig(path, a_kubeconfig())
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == (a_kubeconfig(), 0o600)
    assert [file.name for file in path.parent.iterdir()] == ["kubeconfig"]


def test_one_with_the_same_access_keeps_the_namespace_its_user_chose(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(a_kubeconfig(namespace="mine"))
    write_kubeconfig(path, a_kubeconfig())
    assert path.read_text() == a_kubeconfig(namespace="mine")


def test_an_earlier_demos_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(a_kubeconfig("old"))
    write_kubeconfig(path, a_kubeconfig("new"), flag="--kubeconfig-out")
    assert path.read_text() == a_kubeconfig("new")


@pytest.mark.parametrize("text", [a_kubeconfig(cluster="production"), "my notes: [", "just text"])
def test_anything_else_at_the_path_is_left_alone_and_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(SettingsError, match=r"^--kubeconfig-out .*: there is another kubeconfig"):
        write_kubeconfig(path, a_kubeconfig(), flag="--kubeconfig-out")
    assert path.read_text() == text


def test_a_path_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match=r"^--kubeconfig-out .*: (file exists|not a directory)$"):
        write_kubeconfig(tmp_path / "file" / "kubeconfig", a_kubeconfig(), flag="--kubeconfig-out")
