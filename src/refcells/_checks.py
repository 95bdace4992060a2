"""Shapes and dtypes, checked against the signature that already states them.

A cell's signature says `x: Float[np.ndarray, "batch input"]`. `checked` reads those annotations and refuses a
call that breaks them, so that a function's body holds equations and nothing else.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, Union, get_args, get_origin

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])


def _annotation(parameter: inspect.Parameter) -> Any:
    """The jaxtyping annotation of a parameter, with a surrounding `| None` taken off."""
    annotation = parameter.annotation
    if get_origin(annotation) in (Union, type(int | None)):
        inner = [a for a in get_args(annotation) if a is not type(None)]
        annotation = inner[0] if len(inner) == 1 else None
    return annotation if hasattr(annotation, "dim_str") else None


def _text(shape: tuple[int, ...] | list[Any]) -> str:
    """A shape as it is written in Python, names allowed: (batch, 4) or (3,)."""
    return "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


def checked(gates: int = 1, **_: None) -> Callable[[F], F]:
    """Refuse arrays that do not fit the jaxtyping annotations of the function's signature.

    The axis called `gates` has to be `gates` times as long as the axis called `hidden`: the number of blocks that
    are stacked in the weights (1 for a plain RNN, 3 for a GRU, 4 for an LSTM).

    Raises:
        ValueError: names the argument, what came and what was expected: a wrong type, dtype, number of axes or
            size, an empty axis, or a NaN.
    """

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        wanted = {name: _annotation(p) for name, p in signature.parameters.items()}
        wanted = {name: annotation for name, annotation in wanted.items() if annotation is not None}

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            given = signature.bind(*args, **kwargs).arguments
            sizes: dict[str, tuple[int, str]] = {}
            arrays = {name: given[name] for name in wanted if given.get(name) is not None}
            for name, value in arrays.items():
                _check_kind(name, value, wanted[name])
                axes = wanted[name].dim_str.split()
                if value.ndim != len(axes):
                    raise ValueError(
                        f"{name} has shape {_text(value.shape)}: {value.ndim} axes came, "
                        f"{len(axes)} were expected, {_text(axes)}"
                    )
                for axis, size in zip(axes, value.shape, strict=True):
                    if size == 0:
                        raise ValueError(f"{name} has shape {_text(value.shape)}: its axis '{axis}' is empty")
                    sizes.setdefault(axis, (size, name))
            if "hidden" in sizes and "gates" in sizes:
                hidden, source = sizes["hidden"]
                sizes["gates"] = (gates * hidden, source)
            for name, value in arrays.items():
                axes = wanted[name].dim_str.split()
                expected = tuple(sizes[axis][0] for axis in axes)
                if value.shape != expected:
                    because = ", ".join(
                        f"{axis} = {sizes[axis][0]} from {sizes[axis][1]}"
                        for axis, size in zip(axes, value.shape, strict=True)
                        if size != sizes[axis][0]
                    ).replace("gates =", f"gates = {gates} x hidden =")
                    raise ValueError(
                        f"{name} has shape {_text(value.shape)}; expected {_text(axes)} = {_text(expected)} ({because})"
                    )
            return function(*args, **kwargs)

        return wrapper  # type: ignore[return-value]

    return decorate


def _check_kind(name: str, value: Any, annotation: Any) -> None:
    """Refuse what is no array, has the wrong kind of dtype, or holds a NaN."""
    if not isinstance(value, np.ndarray):
        came = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
        raise ValueError(f"{name} is a {came}; expected a numpy.ndarray {_text(annotation.dim_str.split())}")
    integers = "int64" in annotation.dtypes
    if integers != np.issubdtype(value.dtype, np.integer) or not (
        integers or np.issubdtype(value.dtype, np.floating)
    ):
        expected = "whole numbers" if integers else "floating-point numbers, such as float64"
        raise ValueError(f"{name} has dtype {value.dtype}; expected {expected}")
    if not integers and np.isnan(value).any():
        where = _text([int(k) for k in np.argwhere(np.isnan(value))[0]])
        raise ValueError(f"{name} holds a NaN, the first at index {where}; expected numbers")


def check_lengths(lengths: np.ndarray | None, steps: int) -> None:
    """Refuse sequence lengths outside 1..steps.

    Raises:
        ValueError: names the first sequence whose length does not fit.
    """
    if lengths is None:
        return
    for row, length in enumerate(lengths):
        if not 1 <= length <= steps:
            raise ValueError(
                f"lengths[{row}] is {length}; expected 1 to {steps}, the number of time steps in x"
            )
