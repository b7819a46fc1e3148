"""TV-40: which requirement of a pod goes with which of a node template, for one well-known key (spec v1alpha5 §1.5)."""

import pytest

from karpenter.model import labels
from karpenter.model.requirements import Requirement, Requirements

SIDES = {
    "none": None,
    "Exists": ("Exists",),
    "DNE": ("DoesNotExist",),
    "In A": ("In", "A"),
    "In B": ("In", "B"),
    "In A,B": ("In", "A", "B"),
    "NotIn A": ("NotIn", "A"),
    "In 1": ("In", "1"),
    "In 9": ("In", "9"),
    "In 1,9": ("In", "1", "9"),
    "NotIn 1,2": ("NotIn", "1", "2"),
    "Gt 1": ("Gt", "1"),
    "Gt 9": ("Gt", "9"),
    "Lt 1": ("Lt", "1"),
    "Lt 9": ("Lt", "9"),
}

# A row is the node side, a column what comes in, in the order of SIDES. Y compatible, n not.
MATRIX = {
    "none": "YYYYYYYYYYYYYYY",
    "Exists": "YYnYYYYYYYYYYYY",
    "DNE": "YnYnnnYnnnYnnnn",
    "In A": "YYnYnYnnnnYnnnn",
    "In B": "YYnnYYYnnnYnnnn",
    "In A,B": "YYnYYYYnnnYnnnn",
    "NotIn A": "YYYnYYYYYYYYYYY",
    "In 1": "YYnnnnYYnYnnnnY",
    "In 9": "YYnnnnYnYYYYnnn",
    "In 1,9": "YYnnnnYYYYYYnnY",
    "NotIn 1,2": "YYYYYYYnYYYYYYY",
    "Gt 1": "YYnnnnYnYYYYYnY",
    "Gt 9": "YYnnnnYnnnYYYnn",
    "Lt 1": "YYnnnnYnnnYnnYY",
    "Lt 9": "YYnnnnYYnYYYnYY",
}


def side(name: str) -> Requirements:
    entry = SIDES[name]
    return Requirements() if entry is None else Requirements([Requirement.of(labels.ZONE, entry[0], entry[1:])])


@pytest.mark.parametrize("incoming", SIDES)
@pytest.mark.parametrize("node", SIDES)
def test_the_compatibility_matrix_holds(node: str, incoming: str) -> None:
    expected = MATRIX[node][list(SIDES).index(incoming)] == "Y"
    assert side(node).compatible(side(incoming)) is expected
