"""What an audit found, on a page or a terminal."""
