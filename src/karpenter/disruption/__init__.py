"""Gives capacity back, within the budgets.

Pure modules decide which nodes may go; controller and orchestrator carry it out. Never: a function that does both.
"""
