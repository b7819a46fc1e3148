"""Types as EC2 describes them become the records of the catalogue. Source: spec v1 A-19; spec v1alpha5 §3.2."""

import msgspec
import pytest

from karpenter.aws.typerecords import record_of
from karpenter.model.aws.catalog import load_aws_catalog
from karpenter.sim.ec2.typeshapes import instance_type_info
from tests.awsbuilders import a_record


def without_nothing(raw: object) -> object:
    """Return an answer as the SDK gives it: what is not said is not there."""
    if isinstance(raw, dict):
        return {key: without_nothing(value) for key, value in raw.items() if value is not None}
    return [without_nothing(each) for each in raw] if isinstance(raw, list) else raw


def test_every_type_is_read_as_the_catalogue_has_it() -> None:
    wrong = []
    for record in load_aws_catalog().records.values():
        read = record_of(without_nothing(instance_type_info(record)), record)  # type: ignore[arg-type]
        if read != msgspec.structs.replace(record, zone_letters={}):
            wrong.append((read, record))
    assert wrong[:1] == []


@pytest.mark.parametrize("name", ["m5.large", "g4dn.xlarge"])
def test_a_type_that_the_package_does_not_know_is_read_all_the_same(name: str) -> None:
    """EC2 brings out new ones every month."""
    read = record_of(without_nothing(instance_type_info(a_record(name))), None)  # type: ignore[arg-type]
    assert (read.cpu, read.memory_mib, read.enis, read.branch_interfaces) == (
        a_record(name).cpu,
        a_record(name).memory_mib,
        a_record(name).enis,
        0,
    )
