"""Connections: sessions over links of memory or TCP. The only asynchronous part of the server."""
