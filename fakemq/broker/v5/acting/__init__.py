"""Slaves that act as masters while theirs are away (RIP-32), from a start to an end."""
