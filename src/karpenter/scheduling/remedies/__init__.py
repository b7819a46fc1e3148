"""What would help pods that find no place: the smallest change that lets them be placed, tried by solving again.

Never: a change that was not tried, or one made for the user.
"""

from karpenter.scheduling.remedies.change import Change, Remedy
from karpenter.scheduling.remedies.refusals import Effort, Refusal, refusals_of

__all__ = ["Change", "Effort", "Refusal", "Remedy", "refusals_of"]
