"""Every part of the script, of both releases."""

from __future__ import annotations

from conformance.mqadmin.controllers import CONTROLLED
from conformance.mqadmin.lite import LITE
from conformance.mqadmin.script import PARTS
from conformance.mqadmin.users import USERS
from conformance.mqadmin.v5 import V5

ALL_PARTS = (*PARTS, V5, USERS, LITE, CONTROLLED)
