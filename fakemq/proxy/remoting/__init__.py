"""What the front answers at its port for remoting; one file for each family of request codes."""
