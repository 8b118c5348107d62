"""The metrics of nodes for Prometheus: a port for each node, as those of RocketMQ 5.5.0.

Nothing of it is imported unless a config has ``metricsExporterType=PROM``.
"""
