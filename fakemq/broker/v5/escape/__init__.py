"""How a slave that acts for its master writes to, and reads from, the other masters."""
