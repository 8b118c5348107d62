"""Rows into topics, by batch and by stream."""
