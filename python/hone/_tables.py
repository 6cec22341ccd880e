"""Sessions, trials, records and spaces as tables: lists of dicts that pandas takes as they are."""

from __future__ import annotations

import os
from typing import Any, Iterable

from . import _core
from ._verbs import verb


class Table(list):
    """Rows, each a dict; pandas.DataFrame(table) and table.to_pandas() are the same. Shows itself as text and HTML."""

    def __init__(self, rows: Iterable[dict] = (), columns: list[str] | None = None):
        super().__init__(rows)
        self._columns = columns

    @property
    def columns(self) -> list[str]:
        """The names of all columns, in the order in which they first appear."""
        return self._columns or list(dict.fromkeys(key for row in self for key in row))

    def column(self, name: str) -> list:
        """The values of a column; None in rows that lack it. Raises KeyError for an unknown one."""
        if name not in self.columns:
            raise KeyError(name)
        return [row.get(name) for row in self]

    def to_pandas(self):
        """A pandas.DataFrame. Raises ImportError without pandas."""
        import pandas

        return pandas.DataFrame(list(self), columns=self.columns)

    def _cells(self, limit: int) -> list[list[str]]:
        return [[_short(row.get(column)) for column in self.columns] for row in self[:limit]]

    def __repr__(self) -> str:
        if not self:
            return "(no rows)"
        shown = [list(self.columns), *self._cells(20)]
        widths = [max(len(row[i]) for row in shown) for i in range(len(self.columns))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in shown]
        return "\n".join(lines + ([f"... {len(self)} rows"] if len(self) > 20 else []))

    def _repr_html_(self) -> str:
        from ._html import table

        rest = f"<p>{len(self)} rows</p>" if len(self) > 50 else ""
        return table(self.columns, self._cells(50)) + rest


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return ",".join(f"{key}={_short(one)}" for key, one in value.items())
    text = "" if value is None else str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _flat(row: dict, *nested: str) -> dict:
    """The row with the fields of nested objects in their place."""
    flat = {}
    for key, value in row.items():
        if key in nested and isinstance(value, dict):
            flat.update(value)
        else:
            flat[key] = value
    return flat


def sessions(store: str | os.PathLike | None = None) -> Table:
    """The sessions of a store (None: the usual one): session, state, kernel, dtype, shape, best_us, seconds, ... (docs/json.md)."""
    return Table(verb("sessions", store=store)["sessions"])


def trials(session: int, store: str | os.PathLike | None = None) -> Table:
    """All trials of a session: a column for each parameter, then outcome, time_us (microseconds; None without one), ci95_us, ..."""
    return Table(_flat(row, "config", "resources", "stages") for row in verb("sessions", str(session), store=store)["results"])


def records(store: str | os.PathLike | None = None) -> Table:
    """The records of a store: which configuration serves which problem, and who decided that (docs/records.md)."""
    return Table(verb("records", store=store)["records"])


def kernels() -> Table:
    """The built-in kernels: name, summary, dtypes, shape with its defaults, parameters, arguments, ..."""
    return Table(verb("kernels")["kernels"])


def strategies() -> Table:
    """The search strategies: name, summary, reference, parameters."""
    return Table(verb("strategies")["strategies"])


def devices() -> Table:
    """The devices of this machine."""
    return Table(verb("devices")["devices"])


def configurations(space: _core.Space, count: int = 100, seed: int = 0) -> Table:
    """Configurations of a space, drawn uniformly (all of a small one): position, and a column for each parameter."""
    drawn = range(space.size) if space.exact and space.size <= count else space.sample(count, seed)
    return Table({"position": position, **space.at(position)} for position in drawn)
