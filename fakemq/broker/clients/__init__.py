"""The clients that a broker knows: members of groups, their connections, and their locks."""
