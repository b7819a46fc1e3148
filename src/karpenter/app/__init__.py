"""The commands, the settings and the wiring: the only place that knows every other package.

Here: parsing of flags and environment, one list of controllers, one module per command. Never: decisions, API types or
clients. No other package imports this one.
"""
