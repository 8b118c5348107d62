"""The name server: five tables, their rules, and a handler for every code it answers."""
