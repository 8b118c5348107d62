"""The request handlers of a broker: one module per request code, found by its name."""
