"""What the command line answers, beside the work of the commands themselves."""

import pytest
import yaml

from karpenter.app.cli import BAD_INPUT, main
from karpenter.model import crds


def run(capsys: pytest.CaptureFixture[str], *tokens: str) -> tuple[int, str, str]:
    status = main(tokens)
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--help")
    assert status == 0
    assert [name for name in ("simulate", "crds", "version") if name not in out] == []


@pytest.mark.parametrize(
    "tokens, message",
    [
        (["simulat"], 'karpenter: Unknown command "simulat". Did you mean "simulate"?'),
        (["simulate"], 'karpenter: Command "simulate" parameter --file requires an argument.'),
        (["simulate", "-f", "x", "--sed", "1"], "karpenter: Unknown option: --sed. Did you mean --seed?"),
        (["simulate", "-f", "x", "-o", "xml"], 'karpenter: Invalid value "xml" for -o. Choose from: "table"'),
        (["simulate", "-f", "x", "--set", "a=1"], "karpenter: --set a: there is no such setting"),
        (["simulate", "-f", "no/such.yaml"], "karpenter: no/such.yaml: there is no such file or folder"),
    ],
)
def test_a_mistake_is_told_in_one_line_and_ends_with_2(
    capsys: pytest.CaptureFixture[str], tokens: list[str], message: str
) -> None:
    status, out, err = run(capsys, *tokens)
    assert (status, out, err.count("\n")) == (BAD_INPUT, "", 1)
    assert err.startswith(message)


def test_crds_prints_every_definition_as_yaml(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "crds")
    documents = list(yaml.safe_load_all(out))
    assert status == 0
    assert documents == list(crds.load())
    assert [each["spec"]["names"]["kind"] for each in documents][:2] == ["Provisioner", "NodePool"]
