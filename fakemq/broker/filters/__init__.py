"""What decides, at the broker, which messages a subscription gets."""
