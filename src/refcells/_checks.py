"""Shapes and dtypes, checked against the signature that already states them.

A cell's signature says `x: Float[np.ndarray, "batch input"]`. `checked` reads those annotations and refuses a
call that breaks them, so that a function's body holds equations and nothing else.
"""

import functools
import inspect
from collections.abc import Callable
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])


def _annotation(parameter: inspect.Parameter) -> Any:
    """The jaxtyping annotation of a parameter, with a surrounding `| None` taken off."""
    annotation = parameter.annotation
    if get_origin(annotation) in (Union, UnionType):
        inner = [a for a in get_args(annotation) if a is not type(None)]
        annotation = inner[0] if len(inner) == 1 else None
    return annotation if hasattr(annotation, "dim_str") else None


def shape_text(shape: tuple[int, ...] | list[Any]) -> str:
    """A shape as it is written in Python, names allowed: (batch, 4) or (3,)."""
    return "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


def checked(gates: int = 1) -> Callable[[F], F]:
    """Refuse arrays that do not fit the jaxtyping annotations of the function's signature.

    The axis called `gates` has to be `gates` times as long as the axis called `hidden`: the number of blocks
    that are stacked in the weights (1 for a plain RNN, 3 for a GRU, 4 for an LSTM). An axis that is a number
    has to have that length.

    Raises:
        ValueError: names the argument, what came and what was expected: a wrong type, dtype, number of axes
            or size, an empty axis, a NaN or an infinity.
    """

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        wanted = {name: _annotation(p) for name, p in signature.parameters.items()}
        wanted = {name: annotation for name, annotation in wanted.items() if annotation is not None}

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            given = signature.bind(*args, **kwargs).arguments
            arrays = {name: given[name] for name in wanted if given.get(name) is not None}
            for name, value in arrays.items():
                _check_kind(name, value, wanted[name])
            shapes = {name: (value.shape, wanted[name].dim_str.split()) for name, value in arrays.items()}
            _check_sizes(shapes, gates)
            return function(*args, **kwargs)

        return wrapper  # type: ignore[return-value]

    return decorate


def _check_kind(name: str, value: Any, annotation: Any) -> None:
    """Refuse what is no array, has the wrong kind of dtype, or holds a NaN or an infinity."""
    if not isinstance(value, np.ndarray):
        came = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
        raise ValueError(
            f"{name} is a {came}; expected a numpy.ndarray {shape_text(annotation.dim_str.split())}"
        )
    integers = "int64" in annotation.dtypes
    if not np.issubdtype(value.dtype, np.integer if integers else np.floating):
        expected = "whole numbers" if integers else "floating-point numbers, such as float64"
        raise ValueError(f"{name} has dtype {value.dtype}; expected {expected}")
    if not integers and not np.isfinite(value).all():
        first = tuple(int(k) for k in np.argwhere(~np.isfinite(value))[0])
        what = "a NaN" if np.isnan(value[first]) else "an infinity"
        raise ValueError(
            f"{name} holds {what}, the first at index {shape_text(first)}; expected finite numbers"
        )


def _check_sizes(arrays: dict[str, tuple[tuple[int, ...], list[str]]], gates: int) -> None:
    """Refuse axes that are missing, empty, or of another length than the same axis had before."""
    sizes: dict[str, tuple[int, str]] = {}
    for name, (shape, axes) in arrays.items():
        if len(shape) != len(axes):
            raise ValueError(
                f"{name} has shape {shape_text(shape)}: {len(shape)} axes came, "
                f"{len(axes)} were expected, {shape_text(axes)}"
            )
        for axis, size in zip(axes, shape, strict=True):
            if size == 0:
                raise ValueError(f"{name} has shape {shape_text(shape)}: its axis '{axis}' is empty")
            sizes.setdefault(axis, (int(axis), "the signature") if axis.isdigit() else (size, name))
    if "hidden" in sizes and "gates" in sizes:
        hidden, source = sizes["hidden"]
        sizes["gates"] = (gates * hidden, source)
    for name, (shape, axes) in arrays.items():
        expected = tuple(sizes[axis][0] for axis in axes)
        if shape != expected:
            because = ", ".join(
                f"{axis} = {sizes[axis][0]} from {sizes[axis][1]}"
                for axis, size in zip(axes, shape, strict=True)
                if size != sizes[axis][0] and not axis.isdigit()
            ).replace("gates =", f"gates = {gates} x hidden =")
            raise ValueError(
                f"{name} has shape {shape_text(shape)}; expected {shape_text(axes)}"
                + (f" = {shape_text(expected)} ({because})" if because else "")
            )


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


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    """Refuse a value that is none of the named ones.

    Raises:
        ValueError: names the argument, what came and the choices.
    """
    if value not in choices:
        raise ValueError(
            f"{name} is {value!r}; expected {', '.join(map(repr, choices[:-1]))} or {choices[-1]!r}"
        )
