"""A cluster behind sockets, on an event loop."""
