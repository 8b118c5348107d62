"""Which messages of a topic a consumer wants."""

from __future__ import annotations

from fakemq.client.consuming.settings import Selector

SQL = Selector.by_sql
"""``{"orders": SQL("amount > 100 AND region = 'eu'")}``: by an SQL92 expression over properties.

The broker needs ``enablePropertyFilter=true``.
"""
