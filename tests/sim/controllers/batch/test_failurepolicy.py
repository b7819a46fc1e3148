from typing import Any

import pytest

from karpenter.sim.controllers.batch.failurepolicy import ORDINARY, Verdict, judge

POD = {
    "metadata": {"namespace": "default", "name": "task-x"},
    "status": {
        "conditions": [{"type": "DisruptionTarget", "status": "True"}, {"type": "Ready", "status": "False"}],
        "containerStatuses": [{"name": "main", "state": {"terminated": {"exitCode": 42}}}],
    },
}
DISRUPTED = [{"type": "DisruptionTarget", "status": "True"}]


def codes(operator: str, *values: int, **more: Any) -> dict[str, Any]:
    return {"operator": operator, "values": list(values), **more}


@pytest.mark.parametrize(
    "rule, expected",
    [
        ({"action": "Ignore", "onPodConditions": DISRUPTED}, Verdict(counts=False)),
        ({"action": "Count", "onPodConditions": DISRUPTED}, ORDINARY),
        ({"action": "Ignore", "onPodConditions": [{"type": "Ready", "status": "True"}]}, ORDINARY),
        ({"action": "Ignore", "onExitCodes": codes("In", 1, 42)}, Verdict(counts=False)),
        ({"action": "Ignore", "onExitCodes": codes("NotIn", 1, 42)}, ORDINARY),
        ({"action": "Ignore", "onExitCodes": codes("NotIn", 1)}, Verdict(counts=False)),
        ({"action": "Ignore", "onExitCodes": codes("In", 42, containerName="other")}, ORDINARY),
    ],
)
def test_a_rule_decides_by_conditions_or_exit_codes(rule: dict[str, Any], expected: Verdict) -> None:
    assert judge({"rules": [rule]}, POD) == expected


def test_the_first_rule_that_matches_decides_and_says_why_the_job_fails() -> None:
    fail = {"action": "FailJob", "onExitCodes": codes("In", 42)}
    ignore = {"action": "Ignore", "onPodConditions": DISRUPTED}
    assert judge({"rules": [ignore, fail]}, POD) == Verdict(counts=False)
    why = "Container main for pod default/task-x failed with exit code 42 matching FailJob rule at index 0"
    assert judge({"rules": [fail, ignore]}, POD) == Verdict(fails_job=why)
