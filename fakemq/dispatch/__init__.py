"""From a request to its handler, and from the handler's outcome to a response."""
