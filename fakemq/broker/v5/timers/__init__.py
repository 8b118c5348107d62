"""Timer messages, as brokers of 5.5.0 have them: where they wait, and when they are delivered."""
