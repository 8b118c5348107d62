"""Filters of a broker: which messages a subscription gets."""
