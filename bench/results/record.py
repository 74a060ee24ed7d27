"""A run's folder: ``raw.jsonl`` is the truth, the CSV files are cut from it."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from bench.disk import FAULTS, DiskError, writing
from bench.errors import RequestError


@dataclass(frozen=True)
class RunFolder:
    """``results/runs/<id>/``: one run, safe against being killed at any moment."""

    path: Path

    @property
    def id(self) -> str:
        """The name a person passes to ``resume=``."""
        return self.path.name

    @classmethod
    def create(cls, out: Path) -> RunFolder:
        """Make the folder of a new run, named by the time (UTC) and four random digits.

        Raises:
            RequestError: if ``out`` is no place for folders (see :func:`check_out`).
            DiskError: if the disk is full.

        """
        check_out(out)
        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        path = out / f"{stamp}-{secrets.token_hex(2)}"
        try:
            path.mkdir(parents=True)
        except OSError as error:
            message = f"out: {out}: {error.strerror}"
            raise (DiskError if error.errno in FAULTS else RequestError)(message) from error
        return cls(path)

    @classmethod
    def find(cls, out: Path, run_id: str) -> RunFolder:
        """Return the folder of an earlier run, ``latest`` included.

        Raises:
            RequestError: if there is none of that name.

        """
        runs = list_runs(out)
        if run_id == "latest" and runs:
            return cls(out / runs[-1])
        if run_id not in runs:
            known = ", ".join(["latest", *runs[-5:]]) if runs else "there are none yet"
            raise RequestError(f"no run {run_id!r} in {out} (known: {known})")
        return cls(out / run_id)

    def lock(self, *, wait: bool = False) -> AbstractContextManager[object]:
        """Acquire the lock that keeps two processes out of one folder; leaving `with` releases it.

        Args:
            wait: until another one that is at work in it has ended.

        Raises:
            RequestError: if another one is at work in it, and it is not to be waited for.

        """
        with writing(self.path):
            lock = FileLock(self.path / ".lock", thread_local=False)
            try:
                return lock.acquire(timeout=-1 if wait else 0)
            except Timeout:
                message = f"run {self.id} is being measured by another process"
                raise RequestError(message) from None

    def append(self, record: Mapping[str, Any]) -> None:
        """Append one record and flush it to the disk: a killed run keeps all it had.

        The caller holds the lock; a line that an earlier kill left incomplete is cut off first.

        Raises:
            DiskError: if it can't be written; the record is not there then.

        """
        line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        with writing(self.path):
            self._mend()
            with (self.path / "raw.jsonl").open("ab") as file:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())

    def records(self) -> list[dict[str, Any]]:
        """Return the complete records, leaving out a last line that is not (yet) whole.

        Raises:
            RequestError: if a line before the last is no record: something else wrote there.
        """
        path = self.path / "raw.jsonl"
        content = path.read_bytes() if path.exists() else b""
        whole = content[: content.rfind(b"\n") + 1]
        records = []
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                record = json.loads(line)
            except ValueError:
                record = None
            if not isinstance(record, dict) or "status" not in record:
                raise RequestError(f"{path}: line {number} is no record; remove it, or start anew")
            records.append(record)
        return records

    def _mend(self) -> None:
        path = self.path / "raw.jsonl"
        if path.exists():
            content = path.read_bytes()
            whole = content.rfind(b"\n") + 1
            if whole < len(content):
                os.truncate(path, whole)

    def write(self, name: str, text: str) -> None:
        """Write a file of the folder as a whole, never half.

        Raises:
            DiskError: if it can't be written; what was there before is there still.

        """
        with writing(self.path):
            write_whole(self.path / name, text)

    def read(self, key: str) -> list[str]:
        """Return what this run was started with: its ``overrides``, or the keys of its ``cells``.

        Raises:
            RequestError: if the folder has none: it was killed before anything was measured.

        """
        try:
            found = list(self._request()[key])
            if not all(isinstance(word, str) for word in found):
                raise ValueError(key)
            return found
        except (OSError, ValueError, KeyError, TypeError):
            raise RequestError(f"run {self.id} has no readable request.json: start anew") from None

    def missing(self) -> list[str]:
        """Return the labels of the measurements that the run was begun for and does not have.

        Raises:
            RequestError: if the folder is that of no run.

        """
        try:
            jobs: dict[str, str] = dict(self._request().get("jobs") or {})
        except (OSError, ValueError, TypeError, AttributeError):
            raise RequestError(f"run {self.id} has no readable request.json: start anew") from None
        done = {record["job_key"] for record in self.records()}
        return [label for key, label in jobs.items() if key not in done]

    def _request(self) -> Any:
        return json.loads((self.path / "request.json").read_text())


def check_out(out: Path, option: str = "out") -> None:
    """Refuse a place where no folder can be made; nothing is made here.

    Args:
        out: the folder that is to be there.
        option: what the person gave it with.

    Raises:
        RequestError: if it is, or lies below, a file or a folder that we may not write to.

    """
    there = next(path for path in (out.absolute(), *out.absolute().parents) if _is_there(path))
    if not there.is_dir():
        raise RequestError(f"{option}: {there} is no folder")
    if not os.access(there, os.W_OK | os.X_OK):
        raise RequestError(f"{option}: nothing can be written to {there}")


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # behind a folder that we may not look into, or no possible name
        return False


def list_runs(out: Path) -> list[str]:
    """Return the ids of the runs in a folder, oldest first."""
    return sorted(path.parent.name for path in out.glob("*/request.json"))


def write_whole(path: Path, text: str) -> None:
    """Write a file so that a reader, or a kill, meets the old content or the new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
