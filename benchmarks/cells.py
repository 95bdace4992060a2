"""How fast the reference cells are, beside torch.nn: `python benchmarks/cells.py`.

One table: our time, the peer's, their ratio, and the GEMM bound, which is the time that the matrix products
alone take in the library the row is written in. Times are medians of CPU time, on one thread, of calls that
take turns, so that a busy spell of the machine falls on all of them. Then memory, and growth with the
sequence length.

The four rows with a target are those that the course promises.
"""

import os

# Before NumPy and torch are imported: their libraries read these once.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import argparse
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from refcells import backward, interop, torch_cells, vector

BLOCKS = {"rnn": 1, "lstm": 4, "gru": 3}
PEERS = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}
LAYERS = {"rnn": torch_cells.RNN, "lstm": torch_cells.LSTM, "gru": torch_cells.GRU}
WALKS = {
    "rnn": (vector.rnn_forward, backward.rnn_backward),
    "lstm": (vector.lstm_forward, backward.lstm_backward),
    "gru": (vector.gru_reset_after_forward, backward.gru_reset_after_backward),
}
TARGET = 1.6


@dataclass(frozen=True)
class Size:
    """Sizes of one measurement: batch, time steps, input and hidden width."""

    B: int
    T: int
    D: int
    H: int

    def __str__(self) -> str:
        return f"B={self.B} T={self.T} D={self.D} H={self.H}"


MAIN = Size(32, 100, 64, 128)
SIZES = [(cell, MAIN) for cell in ("lstm", "gru", "rnn")]
SIZES += [("lstm", Size(1, 100, 64, 128)), ("lstm", Size(64, 50, 512, 512))]


class Problem:
    """The same weights and inputs for NumPy, for our layer, and for torch's."""

    def __init__(self, cell: str, size: Size) -> None:
        generator = torch.Generator().manual_seed(0)
        self.cell, self.size = cell, size
        self.layer = LAYERS[cell](size.D, size.H, generator=generator)
        self.peer = PEERS[cell](size.D, size.H, batch_first=True)
        self.peer.load_state_dict(self.layer.state_dict())
        self.x = torch.randn(size.B, size.T, size.D, generator=generator)
        self.x_numpy = self.x.numpy()
        weights = interop.from_torch(cell, self.layer.state_dict(), layer=0)
        self.weights = weights[:4] if cell == "gru" else weights.merged()
        self.d_output = torch.randn(size.B, size.T, size.H, generator=generator)
        self.d_output_numpy = self.d_output.numpy()

    def numpy_forward(self) -> vector.Run:
        return WALKS[self.cell][0](self.x_numpy, *self.weights)

    def numpy_both(self) -> object:
        return WALKS[self.cell][1](self.numpy_forward(), self.d_output_numpy)

    def torch_forward(self, module: nn.Module) -> Tensor:
        with torch.no_grad():
            return module(self.x)[0]

    def torch_both(self, module: nn.Module) -> None:
        module.zero_grad()
        x = self.x.detach().requires_grad_()
        module(x)[0].backward(self.d_output)

    def products(self, both: bool, library: str) -> Callable[[], None]:
        """Only the matrix products, each into memory that is already there."""
        B, T, D, H = self.size.B, self.size.T, self.size.D, self.size.H
        rows = BLOCKS[self.cell] * H
        rng = np.random.default_rng(0)

        def array(*shape: int) -> np.ndarray:
            return rng.normal(size=shape).astype(np.float32)

        x, h_all, a_all = array(T * B, D), array(T * B, H), array(T * B, rows)
        W_x, W_xT, W_h, W_hT = array(rows, D), array(D, rows), array(rows, H), array(H, rows)
        h, a = array(B, H), array(B, rows)
        outs = {
            shape: array(*shape)
            for shape in ((T * B, rows), (B, rows), (B, H), (T * B, D), (rows, D), (rows, H))
        }
        once = [(x, W_xT, outs[T * B, rows])]
        each = [(h, W_hT, outs[B, rows])]
        if both:
            once += [
                (a_all, W_x, outs[T * B, D]),
                (a_all.T, x, outs[rows, D]),
                (a_all.T, h_all, outs[rows, H]),
            ]
            each += [(a, W_h, outs[B, H])]
        if library == "numpy":
            product: Callable[..., object] = np.matmul
        else:
            product = torch.mm
            once, each = (
                [tuple(torch.from_numpy(part) for part in triple) for triple in triples]  # type: ignore[misc]
                for triples in (once, each)
            )

        def run() -> None:
            for left, right, out in once:
                product(left, right, out=out)
            for _ in range(T):
                for left, right, out in each:
                    product(left, right, out=out)

        return run


def medians(calls: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median CPU time of each call in milliseconds; the calls take turns, after one round to warm up."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for round_ in range(repeats + 1):
        for name, call in calls.items():
            started = time.process_time()
            call()
            if round_:
                taken[name].append(1e3 * (time.process_time() - started))
    return {name: statistics.median(values) for name, values in taken.items()}


def measure(cell: str, size: Size, repeats: int) -> Iterator[tuple[str, ...]]:
    """Rows of the table for one cell and size."""
    p = Problem(cell, size)
    rows = {
        ("numpy", "forward"): (p.numpy_forward, lambda: p.torch_forward(p.peer)),
        ("torch", "forward"): (lambda: p.torch_forward(p.layer), lambda: p.torch_forward(p.peer)),
        ("numpy", "forward + backward"): (p.numpy_both, lambda: p.torch_both(p.peer)),
        ("torch", "forward + backward"): (lambda: p.torch_both(p.layer), lambda: p.torch_both(p.peer)),
    }
    for (library, direction), (ours, peer) in rows.items():
        times = medians({"ours": ours, "peer": peer}, repeats)
        bound = medians({"bound": p.products(direction != "forward", library)}, max(3, repeats // 3))["bound"]
        ratio = times["ours"] / times["peer"]
        note = ""
        if (cell, size) == ("lstm", MAIN):
            note = f"target {TARGET}: {'met' if ratio <= TARGET else 'MISSED'}"
        yield (
            f"{cell} {library}", direction, str(size), f"{times['ours']:.2f}", f"{times['peer']:.2f}",
            f"{ratio:.2f}", f"{bound:.2f}", note,
        )  # fmt: skip


def kept_bytes(p: Problem) -> tuple[int, int, int]:
    """Bytes kept between forward and backward: by the NumPy run, by our layer, and by torch's."""
    run = p.numpy_forward()
    arrays = {
        id(base): base.nbytes for base in map(_base, vars(run).values()) if isinstance(base, np.ndarray)
    }

    def saved(module: nn.Module) -> int:
        seen: dict[int, int] = {}

        def pack(tensor: Tensor) -> Tensor:
            storage = tensor.untyped_storage()
            seen[storage.data_ptr()] = storage.nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            module(p.x.detach().requires_grad_())
        return sum(seen.values())

    return sum(arrays.values()), saved(p.layer), saved(p.peer)


def _base(value: object) -> object:
    """The array that owns the memory of a view."""
    while isinstance(value, np.ndarray) and isinstance(value.base, np.ndarray):
        value = value.base
    return value


def growth(repeats: int, lengths: tuple[int, ...]) -> tuple[list[tuple[str, ...]], dict[str, float]]:
    """Times of the LSTM by sequence length, and the exponent k of the fit time ~ T^k."""
    calls = {}
    for T in lengths:
        p = Problem("lstm", Size(MAIN.B, T, MAIN.D, MAIN.H))
        calls[f"numpy {T}"] = p.numpy_both
        calls[f"torch {T}"] = lambda p=p: p.torch_both(p.layer)
        calls[f"nn.LSTM {T}"] = lambda p=p: p.torch_both(p.peer)
    times = medians(calls, repeats)
    kinds = ("numpy", "torch", "nn.LSTM")
    rows = [(str(T), *(f"{times[f'{kind} {T}']:.1f}" for kind in kinds)) for T in lengths]
    x = [math.log(T) for T in lengths]
    exponents = {
        kind: float(np.polyfit(x, [math.log(times[f"{kind} {T}"]) for T in lengths], 1)[0]) for kind in kinds
    }
    return rows, exponents


def table(rows: list[tuple[str, ...]], heads: tuple[str, ...], left: int) -> str:
    """Text columns, the first `left` of them and the last flush left, numbers flush right."""
    widths = [max(len(row[k]) for row in [heads, *rows]) for k in range(len(heads))]
    lines = []
    for row in [heads, *rows]:
        cells = [
            text.ljust(width) if k < left or heads[k] == "" else text.rjust(width)
            for k, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Print the tables; exit status 1 if a target is missed and `--strict` was given."""
    parser = argparse.ArgumentParser(description="Time the reference cells beside torch.nn.")
    parser.add_argument("--repeats", type=int, default=31, help="calls that each median is taken over")
    parser.add_argument(
        "--quick", action="store_true", help="small sizes and three repeats, to see that it runs"
    )
    parser.add_argument("--strict", action="store_true", help="exit with status 1 if a target is missed")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    repeats, sizes, lengths = options.repeats, SIZES, (50, 100, 200, 400)
    if options.quick:
        repeats, lengths = 3, (5, 10)
        sizes = [(cell, Size(4, 10, 8, 16)) for cell in BLOCKS]

    print(
        f"NumPy {np.__version__}, torch {torch.__version__}, one thread, float32, CPU time in ms, medians of {repeats}"
    )
    if "OPENBLAS_CORETYPE" in os.environ:
        print(f"NumPy's OpenBLAS was told to use its {os.environ['OPENBLAS_CORETYPE']} kernels")
    rows = []
    for cell, size in sizes:
        # Large sizes take long and vary little.
        rows += list(measure(cell, size, repeats if size.H <= 128 else max(3, repeats // 5)))
    heads = ("cell", "pass", "size", "ours", "torch.nn", "ratio", "GEMM bound", "")
    print("\n" + table(rows, heads, 3))

    print("\nKept between forward and backward, MB")
    kept = []
    for cell, size in sizes[:3]:
        kept.append((cell, str(size), *(f"{n / 1e6:.1f}" for n in kept_bytes(Problem(cell, size)))))
    print(table(kept, ("cell", "size", "numpy", "torch layer", "torch.nn"), 2))

    print("\nLSTM, forward + backward, by number of time steps, ms")
    by_length, exponents = growth(max(3, repeats // 3), lengths)
    print(table(by_length, ("T", "numpy", "torch layer", "nn.LSTM"), 0))
    print("time ~ T^k, k: " + ", ".join(f"{kind} {k:.2f}" for kind, k in exponents.items()))
    return int(options.strict and any("MISSED" in row[-1] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
