"""Reading FlatBuffers without generated code: tables, vectors, strings, by field number.

Field numbers never change within a schema's evolution (FlatBuffers, "Schema evolution"): files of
every release read alike. Layout: https://flatbuffers.dev/internals. Standard library only.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """One table.

    Attributes:
        data: the whole buffer.
        at: offset of the table in it.

    """

    data: bytes
    at: int

    @classmethod
    def root(cls, data: bytes) -> Table:
        """Return the root table of a buffer.

        Raises:
            ValueError: the buffer is no FlatBuffer (as all methods do on a broken one).

        """
        return cls(data, _read("<I", data, 0))

    def scalar(self, field: int, kind: str, default: int = 0) -> int:
        """Return a number; ``kind`` is a :mod:`struct` letter such as ``I``."""
        at = self._field(field)
        return _read(f"<{kind}", self.data, at) if at else default

    def string(self, field: int) -> str:
        """Return a string; an absent one is empty."""
        start, length = self._vector(field)
        return self.data[start : start + length].decode("utf-8", "replace")

    def table(self, field: int) -> Table | None:
        """Return a table, or a union's value."""
        at = self._field(field)
        return Table(self.data, at + _read("<I", self.data, at)) if at else None

    def tables(self, field: int) -> list[Table]:
        """Return a vector of tables; an absent one is empty."""
        start, length = self._vector(field)
        places = range(start, start + 4 * length, 4)
        return [Table(self.data, at + _read("<I", self.data, at)) for at in places]

    def scalars(self, field: int, kind: str) -> list[int]:
        """Return a vector of numbers; an absent one is empty."""
        start, length = self._vector(field)
        try:
            return list(struct.unpack_from(f"<{length}{kind}", self.data, start))
        except struct.error as error:
            raise ValueError(f"no FlatBuffer: {error}") from error

    def _vector(self, field: int) -> tuple[int, int]:
        at = self._field(field)
        if not at:
            return 0, 0
        start = at + _read("<I", self.data, at)
        length = _read("<I", self.data, start)
        if length > len(self.data):
            raise ValueError(f"no FlatBuffer: a vector of {length} at {start}")
        return start + 4, length

    def _field(self, number: int) -> int:
        """Return the offset of a field, 0 if the table does not have it."""
        virtual = self.at - _read("<i", self.data, self.at)
        if 4 + 2 * number >= _read("<H", self.data, virtual):
            return 0
        offset = _read("<H", self.data, virtual + 4 + 2 * number)
        return self.at + offset if offset else 0


def _read(kind: str, data: bytes, at: int) -> int:
    if at < 0:
        raise ValueError(f"no FlatBuffer: offset {at}")
    try:
        (value,) = struct.unpack_from(kind, data, at)
    except struct.error as error:
        raise ValueError(f"no FlatBuffer: {error}") from error
    return int(value)
