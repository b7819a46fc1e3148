"""What the simulated cloud stores is there again after a restart, and one process at a time has it."""

from pathlib import Path

import pytest

from karpenter.app.embedded.cloudfile import CloudFile
from karpenter.app.errors import BadInputError


def test_changes_are_there_again_and_what_was_forgotten_is_not(tmp_path: Path) -> None:
    file = CloudFile(tmp_path / "cloud.sqlite")
    assert file.saved() is None
    file.store({"market": {"seed": 7}, "i-1": {"zone": "a"}, "i-2": {"zone": "b"}})
    file.store({"i-1": None, "i-2": {"zone": "c"}})
    file.close()
    again = CloudFile(tmp_path / "cloud.sqlite")
    assert again.saved() == {"market": {"seed": 7}, "i-2": {"zone": "c"}}
    again.close()


def test_a_second_process_is_told_that_the_folder_is_in_use(tmp_path: Path) -> None:
    file = CloudFile(tmp_path / "cloud.sqlite")
    with pytest.raises(BadInputError, match=r"^--data: .*cloud\.sqlite cannot be opened .*is another demo using it\?$"):
        CloudFile(tmp_path / "cloud.sqlite")
    file.close()


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cloud.sqlite").write_text("this is no database, and long enough to be looked at as one" * 10)
    with pytest.raises(BadInputError, match="is not a database"):
        CloudFile(tmp_path / "cloud.sqlite")
