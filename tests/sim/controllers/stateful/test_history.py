from msgspec.structs import replace

from karpenter.model.meta import ObjectMeta
from karpenter.sim.controllers.stateful.history import data_of, forgotten, new_revision, sort_out, template_of
from karpenter.sim.kinds import ControllerRevision, StatefulSet
from tests.sim.controllers.workloads import a_stateful_set


def revision(of: StatefulSet, number: int) -> ControllerRevision:
    return ControllerRevision(ObjectMeta(name=f"db-{number}"), data_of(of), number)


FIRST, SECOND, THIRD = (a_stateful_set(image=f"db:{number}") for number in (1, 2, 3))


def test_a_new_template_becomes_the_next_revision() -> None:
    assert sort_out(FIRST, []).equal is None
    assert sort_out(FIRST, []).number == 1
    found = sort_out(THIRD, [revision(FIRST, 1), revision(SECOND, 2)])
    assert (found.equal, found.number) == (None, 3)


def test_the_newest_revision_keeps_its_number_and_an_old_one_gets_the_next() -> None:
    revisions = [revision(SECOND, 2), revision(FIRST, 1)]
    assert sort_out(SECOND, revisions).number == 2
    back = sort_out(FIRST, revisions)
    assert back.equal is revisions[1]
    assert back.number == 3


def test_a_revision_gives_back_the_template_it_was_made_of() -> None:
    body = new_revision(SECOND, 2)
    kept = ControllerRevision(ObjectMeta(), body["data"], 2)
    assert template_of(kept) == SECOND.spec.template
    assert body["data"]["spec"]["template"]["$patch"] == "replace"


def test_equal_templates_have_equal_names_and_a_collision_gives_another() -> None:
    names = [new_revision(one, 1)["metadata"]["name"] for one in (FIRST, FIRST, SECOND)]
    collided = replace(FIRST, status=replace(FIRST.status, collision_count=1))
    assert names[0] == names[1] != names[2]
    assert new_revision(collided, 1)["metadata"]["name"] not in names


def test_old_revisions_are_forgotten_beyond_the_limit_but_not_those_that_pods_are_of() -> None:
    limited = a_stateful_set(revisionHistoryLimit=1)
    revisions = [revision(FIRST, number) for number in (1, 2, 3, 4)]
    names = [one.metadata.name for one in forgotten(limited, revisions, {"db-1", "db-4"})]
    assert names == ["db-2"]
