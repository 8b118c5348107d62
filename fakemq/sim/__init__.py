"""A whole cluster and its clients stepped in virtual time, without a loop: one seed says it all.

The same objects that serve over sockets: a `ClusterCore` nobody drives, and the project's own
client core over memory links. A `Plan` is drawn from a seed, a `Simulation` lives it through, and
`fakemq.sim.invariants` judges what came of it.
"""
