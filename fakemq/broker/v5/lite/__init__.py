"""Lite topics at a broker: their subscribers, what a pop takes, and when they end."""
