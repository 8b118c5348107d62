"""What carries a client's tasks over real sockets: threads, or anyio."""
