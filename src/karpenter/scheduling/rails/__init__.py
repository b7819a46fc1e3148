"""Rails: what keeps a plan of low price from being a fragile one. One module each, read from `Policy`.

A rail narrows what may be planned (columns for a load, types of a claim, the zone of a machine); it never keeps a pod
from a machine that would be launched without it. Never: a rule of pods or pools.
"""
