"""Writes rows to topics, by batch and by stream."""
