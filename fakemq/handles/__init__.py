"""What a test holds in its hand: one file for each noun."""
