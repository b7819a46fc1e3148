"""Stand-ins for the controllers of what runs to its end: Jobs, CronJobs, and the cleaning up after them.

What they decide (`tally`, `accounts`, `schedule` and the rest) is without an API. Never: how long a pod runs,
and how it ends; that is the kubelet's.
"""

from karpenter.sim.controllers.batch.cleanup import FinishedJobs
from karpenter.sim.controllers.batch.cronjobs import CronJobs
from karpenter.sim.controllers.batch.jobs import Jobs

__all__ = ["CronJobs", "FinishedJobs", "Jobs"]
