"""What becomes of a plan when kube-scheduler binds its pods: in its own order, by its own scoring, as nodes come.

Pure numpy, class by class, equal for equal plans. Never: a decision about the plan; whoever asks compares the answers.
"""

from karpenter.scheduling.trials.trial import Prospect, prospect, second_wave

__all__ = ["Prospect", "prospect", "second_wave"]
