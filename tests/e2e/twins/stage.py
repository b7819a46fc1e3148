"""A scenario is a function that talks to a cluster; both clusters play all of them."""

from collections.abc import Callable

from tests.e2e.twins.clusters import Cluster

Scenario = Callable[[Cluster], None]
SCENARIOS: dict[str, Scenario] = {}


def scenario(play: Scenario) -> Scenario:
    """Add a function to the scenarios; its name says what is shown."""
    assert play.__name__ not in SCENARIOS, f"two scenarios are called {play.__name__}"
    SCENARIOS[play.__name__] = play
    return play
