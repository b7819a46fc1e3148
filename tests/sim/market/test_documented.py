"""`docs/simulated-cloud.md` says what the simulated account has."""

from pathlib import Path

import pytest

from karpenter.model.aws.catalog import load_aws_catalog
from karpenter.sim.cloud.requests import ANNOTATION, CONFIG_MAP, REQUESTS
from karpenter.sim.cloud.trouble import OPERATIONS
from karpenter.sim.market.account import make_account
from karpenter.sim.market.faults import FaultKind

TEXT = (Path(__file__).parents[3] / "docs" / "simulated-cloud.md").read_text(encoding="utf-8")
ACCOUNT = make_account("us-west-2", load_aws_catalog().zones("us-west-2"))


def shown(tags: object) -> str:
    assert isinstance(tags, dict)
    return ", ".join(f"`{key}: {value}`" for key, value in tags.items())


@pytest.mark.parametrize("subnet", ACCOUNT.subnets, ids=lambda subnet: subnet.tags["Name"])
def test_every_subnet_is_in_the_table(subnet: object) -> None:
    found = next(one for one in ACCOUNT.subnets if one is subnet)
    assert f"| `{found.id}` | {found.zone} | {found.network} | {shown(found.tags)} |" in TEXT


@pytest.mark.parametrize("group", ACCOUNT.security_groups, ids=lambda group: group.name)
def test_every_security_group_is_in_the_table(group: object) -> None:
    found = next(one for one in ACCOUNT.security_groups if one is group)
    assert f"| `{found.id}` | `{found.name}` | {shown(found.tags)} |" in TEXT


@pytest.mark.parametrize("word", [*REQUESTS, *OPERATIONS, *FaultKind, f"{ANNOTATION}=interrupt", CONFIG_MAP.name])
def test_everything_that_can_be_asked_for_is_named(word: str) -> None:
    assert word in TEXT
