"""The scenarios, one file per family; each runs on any cluster."""
