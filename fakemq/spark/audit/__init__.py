"""The audit: one verdict for every message, from what was acknowledged, stored and delivered."""
