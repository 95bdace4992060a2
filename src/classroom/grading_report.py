"""What the grading withstands, measured and printed: attacks, odd notebooks, speed, kills.

Run as `python -m classroom.grading_report`, or `make grading-report`, with names of parts to run those alone. `attacks` tries
each way to points without an answer under stock nbgrader and here. `odd` hands in what students do to notebooks.
`throughput` grades the same class with both (benchmarks/grading.py). `survival` grades a class while its processes are
killed. Each part that has run is kept in book/data/grading_report.json; the others stay as they are.
"""

import argparse
import datetime
import importlib
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from classroom import attacks
from classroom.course import ROOT
from classroom.errors import CourseError

__all__ = ["DATA", "PARTS", "main", "text"]

DATA = ROOT / "book" / "data" / "grading_report.json"
BENCHMARK = ROOT / "book" / "data" / "grading_benchmark.json"

Data = dict[str, Any]


def _attacks() -> Data:
    """Attacks tried, how many worked under stock nbgrader, and how many here; all rows go to the attacks' own data."""
    result = attacks.measure(lambda line: print(f"  {line}", flush=True))
    attacks.write(result)
    return count_attacks(result)


def count_attacks(result: Mapping[str, Any]) -> Data:
    """What `classroom.attacks.measure` gave, in numbers.

    Args:
        result: that.
    """
    rows = result["attacks"]

    def gained(where: str) -> list[str]:
        parts = ("points", "changed", "reached")
        return [row["name"] for row in rows if any(row[where][part] for part in parts)]

    return {
        "tried": len(rows),
        "gained_in_stock": len(gained("stock")),
        "harmless_in_stock": len(rows) - len(gained("stock")),
        "gained_here": gained("here"),
    }


def _odd() -> Data:
    """What became of notebooks that students cut, copied, broke or never handed in."""
    try:
        module = importlib.import_module("classroom.odd")
    except ModuleNotFoundError:
        raise CourseError("the odd notebooks cannot be measured here: there is no classroom.odd") from None
    told = module.measure(progress=sys.stderr.isatty())
    return {name: told[name] for name in ("submissions", "handled", "rows")}


def _throughput() -> Data:
    """Submissions a minute under both, from one run in turns."""
    program = ROOT / "benchmarks" / "grading.py"
    if not program.exists():
        raise CourseError(
            f"no benchmark at {program}: the throughput is measured in a checkout of the course"
        )
    subprocess.run([sys.executable, program, "throughput"], check=True)
    measured = json.loads(BENCHMARK.read_text(encoding="utf-8"))["throughput"]["measured"]
    kept = ("notebook", "what", "trains", "submissions", "per_minute", "ratio", "same_points")
    return {"notebooks": [{name: row[name] for name in kept} for row in measured]}


def _survival(students: int = 200, kills: int = 40, seed: int = 0) -> Data:
    """A class under kill -9, in both databases where PostgreSQL is installed."""
    survive: Callable[..., Data] = importlib.import_module("classroom.survival").survive
    runs, points = [], None
    for db in ("sqlite", "postgresql"):
        try:
            told = survive(students, db, kills, seed, points, progress=sys.stderr.isatty())
        except CourseError as error:
            if db == "sqlite":
                raise
            print(f"  {db} is left out: {error}")
            continue
        points = told.get("points")
        kept = ("students", "kills", "lost", "double", "different")
        runs.append({"database": db} | {name: told[name] for name in kept})
    return {"runs": runs}


PARTS: dict[str, Callable[[], Data]] = {
    "attacks": _attacks,
    "odd": _odd,
    "throughput": _throughput,
    "survival": _survival,
}


def text(part: str, data: Mapping[str, Any]) -> str:
    """What a part found, in a few lines.

    Args:
        part: its name.
        data: what it measured.
    """
    if part == "attacks":
        here = ", ".join(data["gained_here"]) or "none"
        return (
            f"attacks: {data['tried']} tried; {data['gained_in_stock']} gained something under stock nbgrader, "
            f"{data['harmless_in_stock']} are harmless there already; gained here: {here}"
        )
    if part == "odd":
        rows: Sequence[Mapping[str, Any]] = data["rows"]
        statuses = Counter(str(row["status"]) for row in rows)
        told = ", ".join(f"{count} {status}" for status, count in sorted(statuses.items()))
        lines = [
            f"odd notebooks: {data['submissions']} handed in, {data['handled']} got the expected answer; {told}"
        ]
        for row in rows:
            line = f"  {row['name']:24} {row['status']:10} {row['points']:5.1f}  {row['notes']}"
            lines.append(line[:160].rstrip())
        return "\n".join(lines)
    if part == "throughput":
        lines = ["throughput: submissions a minute, under stock nbgrader and here"]
        for row in data["notebooks"]:
            rates = row["per_minute"]
            lines.append(
                f"  {row['notebook']:16} {row['what']:16} {rates['stock']:6.1f} {rates['here']:7.1f}  "
                f"ratio {row['ratio']:.1f}; same points for {row['same_points']} of {row['submissions']}"
            )
        return "\n".join(lines)
    lines = []
    for run in data["runs"]:
        kills = Counter(kill["target"] for kill in run["kills"])
        lines.append(
            f"survival, {run['database']}: {run['students']} students, {len(run['kills'])} kills ("
            + ", ".join(f"{count} {target}" for target, count in sorted(kills.items()))
            + f"); grades lost {_count(run['lost'])}, given twice {_count(run['double'])}, "
            f"different {_count(run['different'])}"
        )
    return "\n".join(lines)


def _count(what: Any) -> int:
    return what if isinstance(what, int) else len(what)


def main(arguments: list[str] | None = None) -> int:
    """Command line: run parts, print them, keep what they found; 2 if one cannot run, the others run all the same."""
    parser = argparse.ArgumentParser(
        prog="python -m classroom.grading_report", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--data", type=Path, default=DATA, help="where the figures are kept")
    options = parser.parse_args(arguments)
    if unknown := [part for part in options.parts if part not in PARTS]:
        parser.error(f"there is no part {unknown[0]!r}; there are: {', '.join(PARTS)}")
    kept: Data = json.loads(options.data.read_text(encoding="utf-8")) if options.data.exists() else {}
    failed = False
    for part in options.parts or PARTS:
        try:
            found = PARTS[part]()
        except (CourseError, subprocess.CalledProcessError) as error:
            print(f"{part}: not measured: {error}", file=sys.stderr)
            failed = True
            continue
        print(text(part, found), flush=True)
        kept[part] = {"date": datetime.datetime.now(datetime.UTC).date().isoformat()} | found
        ordered = {name: kept[name] for name in PARTS if name in kept}
        options.data.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")
    return 2 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
