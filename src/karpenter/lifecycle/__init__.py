"""Each NodeClaim from birth to death.

Here: launch, registration, initialization, drain, termination; one pure table says the next step. Never: which nodes.
"""
