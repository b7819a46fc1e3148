"""From pending pods to NodeClaims.

Here: which pods count, when a batch closes, what is written for a solution. Never: where pods go (`scheduling`).
"""
