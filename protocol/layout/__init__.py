"""Binary layouts: construct declarations and the fast twins derived from them."""
