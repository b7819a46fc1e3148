"""What the log says of a command: spec v1 §5.5."""

from karpenter.disruption.verdict import Command
from karpenter.disruption.wording import fields_of
from tests.builders import a_claim, a_node_view, a_pool, a_snapshot, an_instance_type
from tests.scheduling.toys import pods, solved

POOL = a_pool()


def test_disrupting_nodes_has_karpenters_fields() -> None:
    (plan,) = solved(pods(1), types=[an_instance_type("m.2", zones=("a",))]).new_claims
    view = a_node_view("old", pool=POOL, claim=a_claim("old-claim", pool=POOL), instance_type="m.8")
    command = Command("Underutilized", ("old",), replacements=(plan,), savings=0.2)
    fields = fields_of(command, a_snapshot(nodes=[view]))
    assert fields["command"] == "Underutilized/replace: old"
    assert (fields["decision"], fields["disrupted_node_count"], fields["replacement_node_count"]) == ("replace", 1, 1)
    assert fields["disrupted_nodes"] == [
        {
            "Node": {"name": "old"},
            "NodeClaim": {"name": "old-claim"},
            "instance-type": "m.8",
            "capacity-type": view.capacity_type,
        }
    ]
    assert fields["replacement_nodes"] == [{"capacity-type": "on-demand", "instance-types": ["m.2"]}]


def test_a_node_that_goes_for_nothing_is_deleted() -> None:
    fields = fields_of(Command("Empty", ("old",)), a_snapshot())
    assert (fields["decision"], fields["pod_count"], fields["replacement_nodes"]) == ("delete", 0, [])
