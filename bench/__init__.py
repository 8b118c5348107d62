"""Measurements of a cluster's costs: ``python -m bench``, or ``make bench``."""
