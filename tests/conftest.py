"""Settings for every test: how hypothesis searches."""

import os

from hypothesis import settings

settings.register_profile("everyday", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("nightly", deadline=None, max_examples=2_000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "everyday"))
