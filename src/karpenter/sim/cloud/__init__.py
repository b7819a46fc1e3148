"""The simulated cloud as Karpenter sees it: a `CloudProvider` over the market.

Lives here: what a provider for AWS decides (selectors, filters of a launch, believed shortages), acted out on the
market. Never here: prices, capacity or delays, which are the market's.
"""

from karpenter.sim.cloud.opening import from_context, open_cloud
from karpenter.sim.cloud.provider import SimulatedCloud

__all__ = ["SimulatedCloud", "from_context", "open_cloud"]
