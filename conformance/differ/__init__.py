"""Differential fuzzing: drawn sequences of requests on a real broker and on the fake, compared."""
