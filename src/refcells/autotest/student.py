"""The student's side of a test that runs elsewhere: uses the student's work on the arguments that come, and answers.

While a class is graded, test cells run in a process that the student's code cannot reach. This module runs beside the
student's code and holds nothing that is worth reading; a student who changes it changes what their own work appears to
give, and no more.
"""

import builtins
import importlib
from collections.abc import Callable
from typing import Any

from refcells.autotest import wire
from refcells.autotest.calls import Answer, answers, raised
from refcells.autotest.forbidden import FORBIDDEN, forbidding
from refcells.autotest.limits import SECONDS

__all__ = ["MIME", "publish", "reply"]

# The type of a reply among the messages of a notebook.
MIME = "application/vnd.course-answer"

# Where probes live. They are named by the trusted side and looked up here.
PROBES = "probes"


def _probe(name: str | None) -> Callable[..., Any] | None:
    if name is None:
        return None
    module, _, function = name.partition(":")
    if not module.endswith(PROBES):
        raise ValueError(f"a probe of {module!r} was asked for; expected a module of probes")
    return getattr(importlib.import_module(f"refcells.autotest.{module}"), function)


def _watched(probe: Callable[..., Any] | None, forbidden: str | None) -> Callable[..., Any] | None:
    """A probe that refuses what an exercise forbids."""
    if forbidden is None:
        return probe
    rule = FORBIDDEN[forbidden]

    def watched(work: Callable[..., Any], *arguments: Any) -> Any:
        with forbidding(rule):
            return probe(work, *arguments) if probe else work(*arguments)

    return watched


def _told(answer: Answer) -> str:
    """An answer as text that can be sent."""
    told = {"problem": answer.problem, "reason": answer.reason, "results": None, "arguments": ()}
    if answer.problem is None:
        try:
            return wire.dumps(told | {"results": answer.results, "arguments": tuple(answer.arguments)})
        except wire.Unspeakable as error:
            told |= {"problem": f"its result cannot be read: {error}", "reason": str(error)}
    return wire.dumps(told)


def reply(request: str, namespace: dict[str, Any]) -> str:
    """The answer to one request of the trusted side, as text.

    Args:
        request: `{"do": "names", "names": [...]}` asks what these names are in the notebook;
            `{"do": "call", "name": ..., "probe": ..., "cases": [...], "quiet": ..., "seconds": ...}` uses one of them,
            with a `"forbidden"` exercise's name, if there is one, under watch;
            `{"do": "apply", "name": ..., "arguments": ..., "keywords": ...}` calls it once.
        namespace: the notebook's variables.
    """
    asked = wire.loads(request)
    if asked["do"] == "names":
        found: dict[str, Any] = {}
        for name in asked["names"]:
            if name not in namespace and not hasattr(builtins, name):
                found[name] = {"kind": "missing"}
            elif callable(value := namespace.get(name, getattr(builtins, name, None))):
                found[name] = {"kind": "callable"}
            else:
                try:
                    wire.dumps(value)
                except wire.Unspeakable:
                    value = wire.Opaque(type(value).__name__)
                found[name] = {"kind": "value", "value": value}
        return wire.dumps(found)
    work = namespace[asked["name"]]
    if asked["do"] == "apply":
        keywords = asked["keywords"]

        def call(work: Callable[..., Any], *arguments: Any) -> Any:
            return work(*arguments, **keywords)

        [answer] = answers(work, call, [tuple(asked["arguments"])], False, asked.get("seconds", SECONDS))
        return _told(answer)
    cases = [tuple(case) for case in asked["cases"]]
    probe = _watched(_probe(asked["probe"]), asked.get("forbidden"))
    came = answers(work, probe, cases, asked["quiet"], asked["seconds"])
    return wire.list_of(_told(answer) for answer in came)


def publish(request: str, namespace: dict[str, Any]) -> None:
    """Send the reply as a display message, which is how a kernel hands data to whoever asked."""
    from IPython.display import display

    try:
        text = reply(request, namespace)
    except BaseException as error:  # the trusted side waits for a word
        text = wire.dumps({"broken": raised(error, None)})
    display({MIME: text}, raw=True)
