"""Says in one line what is wrong with a database and what to do next."""

from __future__ import annotations

from collections.abc import Iterator

from hybrid_scheduler.errors import SchedulerError


class StorageError(SchedulerError):
    """The database cannot be used at the moment; the same call may succeed later."""


class RefusedError(StorageError):
    """The database works but does not take these rows, now or later."""


class DuplicateError(RefusedError):
    """A row with this key is stored already."""


class ClaimedError(StorageError):
    """Another server runs the simulation of this database."""

    def __init__(self, owner: str, seconds_left: float) -> None:
        self.owner = owner
        self.seconds_left = seconds_left
        super().__init__(
            f"the simulation of this database is run by '{owner}': stop it there, choose another database, "
            f"or wait (its claim ends in {max(seconds_left, 0.0):.0f} s unless renewed)"
        )


_SQLITE = {
    "READONLY": "the database {where} is read-only: make the file and its folder writable or choose another database",
    "FULL": "the disk of the database {where} is full: free space or lower the retention limit",
    "BUSY": "the database {where} is locked by another program: close that program or choose another database",
    "LOCKED": "the database {where} is locked by another program: close that program or choose another database",
    "NOTADB": "{where} is no SQLite database: choose another file or remove this one",
    "CORRUPT": "the database {where} is damaged: restore a copy or remove the file",
    "CANTOPEN": "the database {where} cannot be opened: check that its folder exists and is writable",
    "IOERR": "the disk of the database {where} does not answer properly: check it",
}
_POSTGRES = {
    "08": "the database {where} broke off the connection: check that it runs",
    "28": "the database {where} does not let this user in: check user and password",
    "3D": "the database {where} does not exist: create it with createdb",
    "25006": "the database {where} is read-only: use the primary server",
    "42501": "the user of {where} may not do this: grant it the rights on schema public",
    "53100": "the disk of the database {where} is full: free space or lower the retention limit",
    "53300": "the database {where} has no free connection: raise its max_connections",
    "57": "the database {where} is starting or stopping: wait for it",
}
_UNREACHABLE = "the database {where} cannot be reached ({why}): start it or correct the address"
_DUPLICATE = "23505"
_REFUSED = ("22", "23")  # PostgreSQL's classes of wrong data and of broken constraints


def explain(error: BaseException, where: str) -> StorageError:
    """Turn what a driver raised into an error for people; `where` is the address without its password."""
    chain = list(_causes(error))
    for each in chain:
        name = getattr(each, "sqlite_errorname", "").split("_")[1:2]
        code = str(getattr(each, "sqlstate", None) or getattr(each, "pgcode", None) or "")
        if name == ["CONSTRAINT"] or code.startswith(_REFUSED):
            kind = DuplicateError if code == _DUPLICATE else RefusedError
            return kind(f"the database {where} refuses rows ({_line(each)}): store their tasks first")
        sentence = _SQLITE.get("".join(name)) or next((s for c, s in _POSTGRES.items() if code.startswith(c)), None)
        if sentence:
            return StorageError(sentence.format(where=where))
    root = chain[-1]
    if isinstance(root, OSError):  # a refused or timed-out connection, an unknown host
        return StorageError(_UNREACHABLE.format(where=where, why=_line(root)))
    if any(isinstance(each, OverflowError | ValueError) or type(each).__name__ == "DataError" for each in chain):
        return RefusedError(f"the database {where} refuses rows ({_line(root)}): correct their values")
    return StorageError(f"the database {where} failed ({_line(root)}): check that it runs")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Walk from an error to the one at its root; SQLAlchemy keeps the driver's error in `orig`."""
    while error is not None:
        yield error
        error = getattr(error, "orig", None) or error.__cause__


def _line(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return text[0] if text else type(error).__name__
