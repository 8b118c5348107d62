"""The tables of a broker, how they are kept, and what its statistics say."""
