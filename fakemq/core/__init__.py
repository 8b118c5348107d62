"""A whole cluster as plain objects, without sockets, threads or a loop."""
