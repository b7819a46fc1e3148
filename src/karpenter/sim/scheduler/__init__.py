"""A stand-in for kube-scheduler, with the default profile's filters, scores and words.

Here: what pods ask for, what nodes have left, filters, scores, the queue, the loop that binds. Never: anything from
`karpenter.scheduling`: the solver's plans are judged by this package, so it decides from Kubernetes' rules alone.
Left out and named so in the docs: preemption, image locality, scheduler extenders, dynamic resources.
"""

from karpenter.sim.scheduler.scheduler import Scheduler
from karpenter.sim.scheduler.writes import SCHEDULER_NAME

__all__ = ["SCHEDULER_NAME", "Scheduler"]
