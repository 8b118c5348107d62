"""What happened, and because of what: one typed journal, its search and its file."""
