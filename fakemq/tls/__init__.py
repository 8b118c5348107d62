"""TLS as bytes: contexts, streams without sockets, and a throw-away authority."""
