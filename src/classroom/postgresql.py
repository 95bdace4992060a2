"""A PostgreSQL server of one's own, in a temporary folder, for tests and reports; a class has a server already.

The programs are those of the system's package (on Debian: postgresql). The server listens on a Unix socket in its folder alone,
which no other user may enter.
"""

import getpass
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, create_engine, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import OperationalError

from classroom.errors import CourseError

__all__ = ["Server", "programs", "server"]

# Whoever runs the server where the caller is root, which PostgreSQL refuses: the user that the system's package makes.
SYSTEM_USER = "postgres"


def programs() -> Path | None:
    """The folder of PostgreSQL's programs, the newest version where there are several; None if it is not installed."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    versions = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    return max(versions, key=lambda path: float(path.parent.name), default=None)


class Server:
    """A running server.

    Attributes:
        folder: its data and its socket.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def url(self, name: str = "postgres") -> str:
        """The URL of one of its databases, as SQLAlchemy writes it."""
        where = URL.create(
            "postgresql+psycopg", username="postgres", database=name, query={"host": str(self.folder)}
        )
        return where.render_as_string(hide_password=False)

    @contextmanager
    def connection(self, name: str = "postgres") -> Iterator[Connection]:
        """A connection to one of its databases, where each statement is its own transaction."""
        engine = create_engine(self.url(name), isolation_level="AUTOCOMMIT")
        try:
            with engine.connect() as connection:
                yield connection
        finally:
            engine.dispose()

    def execute(self, statement: str, name: str = "postgres", **values: Any) -> list[dict[str, Any]]:
        """Run one statement on a connection of its own; gives the rows it returns."""
        with self.connection(name) as connection:
            done = connection.execute(text(statement), values)
            return [dict(row) for row in done.mappings()] if done.returns_rows else []

    def create(self, name: str) -> str:
        """Make an empty database; gives its URL."""
        self.execute(f'CREATE DATABASE "{name}"')
        return self.url(name)

    def copy(self, name: str, new: str) -> str:
        """Make a database that equals another, to which nobody may be connected; gives its URL."""
        self.execute(f'CREATE DATABASE "{new}" TEMPLATE "{name}"')
        return self.url(new)


@contextmanager
def server() -> Iterator[Server]:
    """Start a server, and stop it and remove its folder afterwards.

    Raises:
        CourseError: if PostgreSQL is not installed or does not start.
    """
    bin = programs()
    if bin is None:
        raise CourseError("PostgreSQL's programs are not installed (on Debian: apt-get install postgresql)")
    who: dict[str, Any] = {}
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    try:
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            shutil.chown(folder, SYSTEM_USER, SYSTEM_USER)
            who = {"user": SYSTEM_USER, "group": SYSTEM_USER, "extra_groups": []}
        data, log = folder / "data", folder / "log"
        made = subprocess.run(
            [
                bin / "initdb",
                "-D",
                data,
                "-U",
                "postgres",
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--locale=C",
                "--no-sync",
            ],
            capture_output=True,
            text=True,
            cwd=folder,
            **who,
        )
        if made.returncode:
            raise CourseError(f"initdb failed: {made.stderr.strip()[-500:]}")
        options = {"listen_addresses": "", "unix_socket_directories": str(folder), "fsync": "off"}
        arguments = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        with log.open("wb") as output:
            process = subprocess.Popen(
                [bin / "postgres", "-D", data, *arguments],
                stdout=output,
                stderr=output,
                cwd=folder,
                start_new_session=True,
                **who,
            )
        try:
            _wait(Server(folder), process, log)
            yield Server(folder)
        finally:
            # SIGINT: connections are ended, nobody is waited for.
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()
            process.wait()
    except LookupError:
        raise CourseError(
            f"PostgreSQL refuses to run as {getpass.getuser()}, and there is no user {SYSTEM_USER!r}"
        ) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait(started: Server, process: "subprocess.Popen[bytes]", log: Path) -> None:
    """Until it answers."""
    until = time.monotonic() + 30
    while True:
        try:
            started.execute("SELECT 1")
            return
        except OperationalError as error:
            if process.poll() is not None or time.monotonic() > until:
                told = log.read_text(encoding="utf-8", errors="replace")[-500:]
                raise CourseError(f"PostgreSQL does not start: {told or error}") from None
            time.sleep(0.05)
