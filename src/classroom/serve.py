"""Serve the built site on localhost: `python -m classroom.serve`."""

import argparse
import functools
import http.server
import sys
from http import HTTPStatus
from pathlib import Path

from classroom.course import ROOT


class Handler(http.server.SimpleHTTPRequestHandler):
    """Files of the site, and its own page for an address that leads nowhere, as a real host shows it."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer with 404.html where a file is missing; with what http.server says for any other error."""
        page = Path(self.directory) / "404.html"
        if code != HTTPStatus.NOT_FOUND or not page.is_file():
            super().send_error(code, message, explain)
            return
        data = page.read_bytes()
        self.send_response(code, message)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


def main(arguments: list[str] | None = None) -> int:
    """Command line: serve until interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m classroom.serve", description=(__doc__ or "").split(":")[0]
    )
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--site", type=Path, default=ROOT / "_build" / "html")
    options = parser.parse_args(arguments)
    if not (options.site / "index.html").exists():
        print(f"classroom.serve: no site in {options.site}; build it with: make site", file=sys.stderr)
        return 2
    handler = functools.partial(Handler, directory=str(options.site))
    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", options.port), handler)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        print(
            f"classroom.serve: port {options.port}: {reason}; take another: make serve PORT=8001",
            file=sys.stderr,
        )
        return 2
    print(f"http://127.0.0.1:{server.server_port}/ (stop with Ctrl-C)")
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
