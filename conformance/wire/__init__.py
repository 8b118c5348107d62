"""Bytes on a connection: frames by hand, requests, recording, malformed bytes and noise."""
