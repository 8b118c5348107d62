"""HTTP/2 as bytes, the server's end: frames in, events out, and back."""
