"""What a client does when a broker sends it a request: one file for each code."""
