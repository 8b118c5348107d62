"""What a controller answers: one module for each request code, found by its name."""
