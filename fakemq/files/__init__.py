"""Files of users and nodes: which texts may be part of a path, how files are opened and kept."""
