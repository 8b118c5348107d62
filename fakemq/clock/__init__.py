"""What time it is, and what is due."""
