"""What faults of links do to the bytes that connections carry."""
