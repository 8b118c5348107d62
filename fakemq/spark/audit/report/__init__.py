"""The result of an audit, as a page or on a terminal."""
