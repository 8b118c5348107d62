"""Stored records as columns, thousands at a time."""
