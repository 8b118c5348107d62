"""Hides the real uvloop from a fakemq under measurement: ``make serve`` installs none."""

raise ImportError("a plain install has no uvloop")
