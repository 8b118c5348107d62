"""How a broker takes a message: checks, the put, delays, retries, transactions and replies."""
