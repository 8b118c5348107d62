"""Effects of link faults on the bytes of connections."""
