"""The drift hash equals Karpenter's (spec v1 §1.4.4, §8.5)."""

from typing import Any

import pytest

from karpenter.model.nodepool import NodeClassRef, PoolTemplate
from karpenter.model.v1.hashes import nodepool_hash
from tests.builders import a_taint

HOUR = 3600.0
AWS = NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default")
MONTH = {"expire_after_s": 720 * HOUR}


@pytest.mark.parametrize(
    "template, digest",
    [
        ({}, 17369979337536258260),  # V67
        (
            {
                "node_class_ref": NodeClassRef("eks.amazonaws.com", "NodeClass", "default"),
                "expire_after_s": 336 * HOUR,
                "termination_grace_period_s": 24 * HOUR,
            },
            4012513481623584108,  # V68
        ),
        (MONTH, 6821555240594823858),  # V69
        ({**MONTH, "labels": {"a": "b"}}, 11962592403282335759),  # V70
        ({**MONTH, "taints": (a_taint("example.com/x:NoSchedule"),)}, 7037360296495527496),  # V70
        ({**MONTH, "termination_grace_period_s": HOUR}, 14948894070871102041),  # V70
        ({**MONTH, "annotations": {"x": "y"}}, 6629122280161281850),  # V71
        ({**MONTH, "startup_taints": (a_taint("a:NoSchedule"),)}, 7486790991185812591),  # V71
    ],
)
def test_known_templates_have_the_known_digest(template: dict[str, Any], digest: int) -> None:
    """V67 to V71."""
    assert nodepool_hash(PoolTemplate(**{"node_class_ref": AWS, **template})) == str(digest)


def test_the_order_of_taints_does_not_matter() -> None:
    """V72."""
    taints = (a_taint("a=b:NoSchedule"), a_taint("c:NoExecute"))
    digests = {
        nodepool_hash(PoolTemplate(node_class_ref=AWS, taints=order, **MONTH)) for order in (taints, taints[::-1])
    }
    assert digests == {"10450290681353908783"}
