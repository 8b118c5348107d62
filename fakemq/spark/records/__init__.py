"""Records as columns, thousands at a time."""
