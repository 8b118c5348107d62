"""Java and Go client programs as processes that a test steers."""
