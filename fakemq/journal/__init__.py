"""The journal: typed events with their causes, its search and its file."""
