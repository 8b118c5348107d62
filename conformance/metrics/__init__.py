"""The metrics of a real 5.5.0 for Prometheus, and those of fakemq after the same requests."""
