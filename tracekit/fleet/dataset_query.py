"""SQL over a dataset's tables: DuckDB reads them as views of their names, and reaches nothing else.

The tables are given to DuckDB as Arrow datasets. So it needs no file, and is configured to open none: neither
files nor extensions nor the network, whatever the SQL is.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from tracekit.errors import InputError, TracekitError, UsageError
from tracekit.fleet.dataset import Dataset
from tracekit.fleet.schema import TABLES
from tracekit.frozen import frozen
from tracekit.installation import format_install_command
from tracekit.text import printable

_CONFIGURATION = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_persistent_secrets": "false",
    "temp_directory": "",
}
_REFUSED = "PermissionException"
_CHECKSUM = "CRC checksum verification failed"
_RENEW = "Restore the dataset from a copy, or run tracekit fleet run into a new folder."
_SETTINGS = ("TimeZone='UTC'", "python_enable_replacements=false", "lock_configuration=true")
"""Without replacements, a name that is no table is an error, and not a variable of this program."""

Parameter = str | int | float
"""A value of a parameter of SQL."""


@frozen
class QueryLimits:
    """Bounds on what one query may take, and on its result."""

    seconds: float = 60
    memory_bytes: int = 2 << 30
    rows: int = 1_000_000
    result_bytes: int = 1 << 30


_LIMITS = QueryLimits()


def run_query(dataset: Dataset, sql: str, limits: QueryLimits = _LIMITS) -> pa.Table:
    """Return the result of one SELECT, DESCRIBE, SHOW or SUMMARIZE over the tables of a dataset.

    DuckDB parses all of these as a SELECT. Raises ``UsageError`` for any other statement, for SQL that fails,
    and for a result beyond the limits.
    """
    with connect_tables(dataset, limits) as connection:
        _require_select(connection, sql)
        return select(connection, sql, {}, limits)


@contextmanager
def connect_tables(dataset: Dataset, limits: QueryLimits = _LIMITS) -> Iterator[Any]:
    """Connect to DuckDB with the tables of a dataset, and with no way out of it."""
    duckdb = _import_duckdb()
    configuration = {**_CONFIGURATION, "memory_limit": f"{limits.memory_bytes >> 20}MiB"}
    with duckdb.connect(":memory:", config=configuration) as connection:
        for name in TABLES:
            connection.register(name, dataset.open_table(name))
        for setting in _SETTINGS:
            connection.execute(f"SET {setting}")
        yield connection


def select(
    connection: Any, sql: str, parameters: Mapping[str, Parameter], limits: QueryLimits = _LIMITS
) -> pa.Table:
    """Return the rows of a SELECT with its parameters. Raises ``UsageError`` where it fails."""
    timer = threading.Timer(limits.seconds, connection.interrupt)
    timer.start()
    try:
        relation = connection.sql(sql, params=dict(parameters))
        result: pa.Table = relation.limit(limits.rows + 1).to_arrow_table()
    except _import_duckdb().Error as error:
        raise _explain_refusal(error, limits) from None
    finally:
        timer.cancel()
    if result.num_rows > limits.rows or result.nbytes > limits.result_bytes:
        raise UsageError(
            f"The result has more than {limits.rows:,} rows or {limits.result_bytes >> 20:,} MiB."
            " Aggregate it, or add LIMIT."
        )
    return result


def _import_duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        raise TracekitError(
            "Questions about a dataset need DuckDB, which is not installed."
            f" Install it with: {format_install_command('fleet')}"
        ) from None
    return duckdb


def _require_select(connection: Any, sql: str) -> None:
    duckdb = _import_duckdb()
    try:
        statements = connection.extract_statements(sql)
    except duckdb.Error as error:
        raise _explain_refusal(error, _LIMITS) from None
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise UsageError(
            "A query is one SELECT over the tables of the dataset, or DESCRIBE, SHOW TABLES or SUMMARIZE."
            " Nothing else is run: no change of data or settings, no file, no extension, no second statement."
        )
    if statements[0].named_parameters:
        raise UsageError("A query has no parameters: write the values into the SQL.")


def _explain_refusal(error: Exception, limits: QueryLimits) -> TracekitError:
    """Return the error of DuckDB as a sentence; its lines show the place in the SQL."""
    kind = type(error).__name__
    if kind == "InterruptException":
        return UsageError(f"The query was ended after {limits.seconds:g} s. Select fewer rows or columns.")
    if kind == "OutOfMemoryException":
        size = f"{limits.memory_bytes >> 20:,} MiB"
        return UsageError(f"The query needs more than the {size} that it may take. Aggregate less at once.")
    if _CHECKSUM in str(error):
        return InputError("The dataset", "has a damaged part, whose checksum differs.", _RENEW)
    if kind == _REFUSED:
        return UsageError(
            "A query reads the tables of the dataset, and no file, extension or address:"
            f" {_take_first_line(error)}"
        )
    return UsageError(f"The query cannot be run: {_take_first_line(error)}", *_find_place_lines(error))


def _take_first_line(error: Exception) -> str:
    return printable(str(error).partition("\n")[0])


def _find_place_lines(error: Exception) -> list[str]:
    """Return the lines below the first that show where in the SQL the error is."""
    lines = [printable(line) for line in str(error).split("\n")[1:] if line.strip()]
    return lines[:6]
