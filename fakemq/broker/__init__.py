"""The broker: its tables, its rules, and a handler for every code it answers."""
