"""Controllers of RocketMQ 5: which broker of a group is the master, and which are in sync.

`decide` and `state` are the machine: what a request is answered, and what that changes. All else is
the nodes around it: `controller` is one, `group` what all of one cluster have in common.
"""
