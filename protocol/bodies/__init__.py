"""JSON bodies, one file per family."""
