"""What a cloud must be able to do.

Here: the `CloudProvider` protocol, its errors and the suite that every provider passes. Never: one cloud's own details.
"""
