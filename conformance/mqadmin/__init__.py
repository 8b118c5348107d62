"""RocketMQ's own mqadmin on a real cluster and on the fake: the same sub-commands, the same output.

`script` says which sub-commands run, with which options; `state` and `letters` what clusters have;
`session` runs them; `output` takes out what differs from run to run; `recordings` keeps what
mqadmin printed at a real 4.9.7 cluster, and the accepted differences.
"""
