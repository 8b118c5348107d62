"""Store directories as rows."""
