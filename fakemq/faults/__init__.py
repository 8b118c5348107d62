"""Faults as data: `plan` has what is placed, `points` where it can act, `request_scope` for what.

A part asks the plan for what applies where it stands; nothing is patched, and what is not placed
costs one look at an empty list.
"""
