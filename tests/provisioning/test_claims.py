"""What a claim says beside its requirements."""

import pytest

from karpenter.model import labels
from karpenter.model.requirements import Requirement
from karpenter.provisioning.claims import claim_for
from karpenter.scheduling import Options, Policy
from tests.builders import a_pod, a_pool
from tests.scheduling.toys import solved, toys


@pytest.mark.parametrize("least, said", [(2, "false"), (3, "true")])
def test_a_claim_says_whether_it_asks_for_fewer_values_than_its_pool(least: int, said: str) -> None:
    """S-45: two types hold the pod."""
    wanted = Requirement.of(labels.INSTANCE_TYPE, "Exists", min_values=least)
    pool = a_pool(requirements=[Requirement.of(labels.CAPACITY_TYPE, "In", ["on-demand"]), wanted])
    options = Options(Policy(min_values="BestEffort"))
    (plan,) = solved([a_pod(cpu="7")], pools=[pool], types=toys("c.1", "c.8", "m.8"), options=options).new_claims
    assert claim_for(plan, pool).metadata.annotations[labels.MIN_VALUES_RELAXED] == said


@pytest.mark.parametrize(
    "kind, said", [("NodePool", {"karpenter.k8s.aws/ec2nodeclass": "default"}), ("Provisioner", {})]
)
def test_a_claim_of_today_says_which_node_class_it_was_made_from(kind: str, said: dict[str, str]) -> None:
    """Spec v1 §1.2: claims and their nodes are selected by it."""
    pool = a_pool(kind=kind)
    (plan,) = solved([a_pod()], pools=[pool], types=toys("c.8")).new_claims
    found = claim_for(plan, pool).metadata.labels
    assert {key: value for key, value in found.items() if "karpenter.k8s.aws" in key} == said
