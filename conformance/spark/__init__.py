"""A streaming job as a user would write it, and what it must live through."""
