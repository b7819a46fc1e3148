"""The API that a test speaks to."""

import pytest

from tests.runtime.kubememory.api import Api


@pytest.fixture
def api() -> Api:
    return Api()
