"""A whole cluster and its clients, run in virtual time without a loop; one seed decides a run.

It uses the objects that also serve over sockets: a `ClusterCore`, stepped by hand, and the
project's own client core over memory links. `drawing` draws a `Plan` from a seed, `run` executes
it, and `invariants` checks the result.
"""
