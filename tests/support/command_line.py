"""The command line in this process: what a command printed, and its exit code."""

from __future__ import annotations

import json
from typing import Any

from click.testing import CliRunner, Result

from fakemq.cli import main


def run(*args: str, stdin: str | bytes = b"", exit_code: int = 0) -> Result:
    """Run a command that ends with this exit code and without a traceback."""
    result = CliRunner().invoke(main, args, prog_name="fakemq", input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    assert result.exit_code == exit_code, result.output
    return result


def rows(*args: str, stdin: str | bytes = b"") -> list[dict[str, Any]]:
    """Return the rows that a command prints with --json."""
    return [json.loads(line) for line in run(*args, "--json", stdin=stdin).stdout.splitlines()]
