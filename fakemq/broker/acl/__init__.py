"""Access control: accounts with keys, what each may do, and which addresses need no key."""
