"""Request and response headers, one file per family; imported only when a code needs them."""
