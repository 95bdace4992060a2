"""Command line: `python -m refcells.experiments [name ...]` runs experiments and writes `book/data/<name>.json`."""

import argparse

from refcells.experiments import experiments, run


def main(arguments: list[str] | None = None) -> int:
    """Run the experiments that are named, or all of them."""
    parser = argparse.ArgumentParser(prog="python -m refcells.experiments", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help="experiments to run; all by default")
    names = parser.parse_args(arguments).names
    known = experiments()
    if unknown := [name for name in names if name not in known]:
        parser.error(f"no experiment {unknown[0]!r}; there are {', '.join(sorted(known))}")
    for name in names or known:
        recorded = run(known[name])
        print(f"{name}: {len(recorded.parts)} parts in {recorded.seconds:.0f} s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
