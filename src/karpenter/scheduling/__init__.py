"""Where these pods would go and what would be launched for them.

Pure: functions of an immutable snapshot. Never: I/O, a clock, randomness, a cloud.
"""
