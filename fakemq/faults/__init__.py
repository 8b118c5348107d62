"""Faults as data: `plan` has what is placed, the others what that does to each part of a cluster.

A part asks the plan for what applies where it stands; nothing is patched, and what is not placed
costs one look at an empty list.
"""
