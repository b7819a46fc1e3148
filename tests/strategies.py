"""What hypothesis draws from: small pools of corner values rather than wide random ones."""

from typing import Any

from hypothesis import strategies as st

from karpenter.model.requirements import Requirement

KEY = "example.com/key"
VALUES = ("", "A", "B", "0", "1", "2", "5", "9", "10", "1_0", "01", "a-b")

label_values = st.sampled_from(VALUES)
bounds = st.sampled_from(("0", "1", "2", "5", "9"))

single_requirements = st.one_of(
    st.builds(
        Requirement.of,
        st.just(KEY),
        st.sampled_from(("In", "NotIn")),
        st.sets(label_values, max_size=4),
        min_values=st.none() | st.integers(1, 3),
    ),
    st.builds(Requirement.of, st.just(KEY), st.sampled_from(("Exists", "DoesNotExist"))),
    st.builds(Requirement.of, st.just(KEY), st.sampled_from(("Gt", "Lt", "Gte", "Lte")), st.tuples(bounds)),
)


def _intersected(parts: list[Requirement]) -> Requirement:
    first, *rest = parts
    for part in rest:
        first = first.intersect(part)
    return first


requirements = st.lists(single_requirements, min_size=1, max_size=3).map(_intersected)
"""Requirements on one key: single entries of a manifest and intersections of up to three."""

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.text(max_size=8)
    | st.sampled_from(("", "5%", "10Gi", "3m", "In", "Gt", "a/b/c", "x" * 70, "subnet-1", "karpenter.sh/x", "Never")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
"""Whatever may stand in a JSON document."""
