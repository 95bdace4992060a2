"""What this machine enforces on a student's code: `python -m classroom.sandbox` asks it, and then tries it in a kernel."""

import argparse
import asyncio
import sys
from typing import Any

from classroom.sandbox.confine import can_fork, enforcement

__all__ = ["attempts", "main"]

# What a student's code might try, and what of `enforcement` stops it. Each snippet sets `got` to what it got hold of.
ATTEMPTS = {
    "read a file of the grader's": ("files", "got = open({file!r}).read()"),
    "write next to the gradebook": ("files", "open({file!r}, 'a').close(); got = 'written'"),
    "open a socket": ("network", "import socket; got = socket.socket(socket.AF_INET).fileno()"),
    "connect to a service of this machine's": (
        "network",
        "import socket; socket.socket(socket.AF_UNIX).connect({service!r}); got = 'a connection'",
    ),
    "send a service of this machine's a message": (
        "network",
        "import socket; a, _ = socket.socketpair(type=socket.SOCK_DGRAM); got = a.sendto(b'x', {letters!r})",
    ),
    "allocate 64 GiB": (
        "processor time, memory, size of files",
        "got = len(bytearray(64 * 2**30))",
    ),
    "write a file of 1 GiB": (
        "processor time, memory, size of files",
        "import os\nf = os.open('big', os.O_CREAT | os.O_WRONLY)\nos.lseek(f, 2**30, 0)\ngot = os.write(f, b'x')",
    ),
    "signal the grader": ("a user id of its own", "import os; os.kill({pid}, 0); got = 'a signal'"),
    "read the grader's memory": ("a user id of its own", "got = open('/proc/{pid}/mem', 'rb').read(1)"),
    "import the model answers": (
        "tests in a process of their own",
        "import refcells.vector; got = refcells.vector",
    ),
}


async def _ask(snippets: list[str]) -> list[str | None]:
    from jupyter_client.utils import ensure_async

    from classroom.sandbox.provisioner import ConfinedKernelManager

    manager = ConfinedKernelManager()
    await manager.start_kernel()
    client: Any = manager.client()
    client.start_channels()
    try:
        await client.wait_for_ready(timeout=120)
        answers: list[str | None] = []
        for snippet in snippets:
            code = (
                "got = None\ntry:\n    exec("
                + repr(snippet)
                + ")\nexcept BaseException as error:\n    why = error"
                "\nresult = None if got is None else str(got)[:60]"
            )
            reply = await ensure_async(
                client.execute_interactive(
                    code, user_expressions={"result": "result"}, timeout=60, output_hook=lambda _: None
                )
            )
            shown = reply["content"]["user_expressions"]["result"]
            text = shown.get("data", {}).get("text/plain", "None")
            answers.append(None if text == "None" else text)
        return answers
    finally:
        client.stop_channels()
        await manager.shutdown_kernel(now=True)


def attempts() -> dict[str, str | None]:
    """What a student's code got hold of in each attempt on this machine; None where it was stopped."""
    import os
    import socket
    import tempfile

    with (
        tempfile.NamedTemporaryFile("w", prefix="grader-") as file,
        socket.socket(socket.AF_UNIX) as listening,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as reading,
    ):
        file.write("the grader's")
        file.flush()
        service, letters = f"{file.name}.service", f"{file.name}.letters"
        listening.bind(service)
        listening.listen()
        reading.bind(letters)
        for path in (file.name, service, letters):
            os.chmod(path, 0o666)
        try:
            snippets = [
                snippet.format(file=file.name, service=service, letters=letters, pid=os.getpid())
                for _, snippet in ATTEMPTS.values()
            ]
            return dict(zip(ATTEMPTS, asyncio.run(_ask(snippets)), strict=True))
        finally:
            os.unlink(service)
            os.unlink(letters)


def main(arguments: list[str] | None = None) -> int:
    """Command line: print what is enforced, and what came of trying."""
    parser = argparse.ArgumentParser(
        prog="python -m classroom.sandbox", description="What this machine enforces on a student's code."
    )
    parser.add_argument("--no-try", action="store_true", help="only ask the system, start no kernel")
    options = parser.parse_args(arguments)
    enforced = enforcement()
    print("Enforced here on a student's code while it is graded:")
    for name, yes in enforced.items():
        print(f"  {'yes' if yes else 'NO ':4} {name}")
    if not can_fork():
        print(
            "Tests run in the student's own process here, as in stock nbgrader: grade on Linux or macOS instead."
        )
        return 0
    if options.no_try:
        return 0
    print("Tried in such a kernel:")
    wrong = False
    for name, got in attempts().items():
        expected = enforced[ATTEMPTS[name][0]]
        wrong = wrong or (expected and got is not None)
        print(f"  {'stopped ' if got is None else 'POSSIBLE'} {name}")
    if wrong:
        print(
            "What should be stopped here is possible: do not grade strangers' work on this machine.",
            file=sys.stderr,
        )
    return int(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
