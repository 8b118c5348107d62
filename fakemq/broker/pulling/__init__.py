"""How a broker answers a pull, holds one, and moves a consumer to another offset."""
