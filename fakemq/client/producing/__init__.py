"""Producers: their start and end, sending in every way, transactions, replies and traces."""
