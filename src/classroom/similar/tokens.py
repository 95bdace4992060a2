"""From an answer to fingerprints: what is left of it when names, comments, strings and layout are taken away."""

import keyword
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from pygments.lexers import PythonLexer
from pygments.token import Comment, Name, Number, String, Text

__all__ = ["CODE_GRAM", "WORD_GRAM", "Gram", "Token", "code_tokens", "grams", "kept_names", "words"]

# Tokens of code, and words of prose, in one fingerprint.
CODE_GRAM, WORD_GRAM = 5, 4


@dataclass(frozen=True)
class Token:
    """A piece of an answer.

    Attributes:
        text: what is compared.
        start: where it begins in the answer.
        end: where it ends.
        free: whether it is a name that the student could have chosen otherwise.
    """

    text: str
    start: int
    end: int
    free: bool = False


@dataclass(frozen=True)
class Gram:
    """So many tokens in a row.

    Attributes:
        key: what is compared: the tokens, chosen names replaced by the place of their first occurrence in the row.
        spans: where its tokens stand in the answer.
    """

    key: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]


_LEXER = PythonLexer()


def code_tokens(source: str, keep: Collection[str] = ()) -> list[Token]:
    """The tokens of a piece of Python, also of one that is no valid Python.

    Comments, docstrings, white space, the text of strings and parentheses that only group are gone. A number is its value.
    Names that a student chose are marked; attributes, such as `tanh` in `np.tanh`, builtins, and the names in `keep` stand as they are.

    Args:
        source: the code.
        keep: names that the course gave.
    """
    found: list[Token] = []
    last_string = -1
    for start, kind, text in _LEXER.get_tokens_unprocessed(source):
        end = start + len(text)
        if kind in Comment or kind in String.Doc or kind in Text or not text.strip():
            continue
        if kind in String:
            # A string comes in pieces, with its quotes.
            if found and found[-1].text == '""' and last_string == start:
                found[-1] = Token('""', found[-1].start, end)
            else:
                found.append(Token('""', start, end))
            last_string = end
        elif kind in Number:
            found.append(Token(_value(text), start, end))
        elif kind in Name and kind not in Name.Builtin and kind not in Name.Exception and text not in keep:
            attribute = len(found) > 1 and found[-1].text == "." and found[-2].text != "self"
            found.append(Token(text, start, end, free=not attribute))
        else:
            found.append(Token(text, start, end))
    return _ungrouped(found)


def _ungrouped(tokens: list[Token]) -> list[Token]:
    """Without the parentheses that call nothing, which people set or leave out as they like."""
    kept: list[Token] = []
    grouping: list[bool] = []
    for place, token in enumerate(tokens):
        if token.text == "(":
            before = tokens[place - 1].text if place else ""
            grouping.append(not (before.isidentifier() or before in (")", "]")) or keyword.iskeyword(before))
            if grouping[-1]:
                continue
        elif token.text == ")" and grouping and grouping.pop():
            continue
        kept.append(token)
    return kept


def _value(text: str) -> str:
    try:
        return repr(float(text.replace("_", "")))
    except ValueError:
        return text


def words(source: str) -> list[Token]:
    """The words and numbers of an answer in prose, in small letters."""
    return [Token(m[0].casefold(), m.start(), m.end()) for m in re.finditer(r"\w+(?:[.']\w+)*", source)]


def grams(tokens: list[Token], size: int) -> list[Gram]:
    """Every row of so many tokens. The same row with other names, used in the same way, has the same key (Baker, 1993)."""
    found = []
    for place in range(len(tokens) - size + 1):
        row = tokens[place : place + size]
        names: dict[str, str] = {}
        key = tuple(
            names.setdefault(token.text, f"\0{len(names)}") if token.free else token.text for token in row
        )
        found.append(Gram(key, tuple((token.start, token.end) for token in row)))
    return found


def kept_names(cells: Iterable[str]) -> frozenset[str]:
    """Names that the course gave: imported modules and what the released cells define."""
    found: set[str] = set()
    for source in cells:
        found |= set(re.findall(r"^\s*(?:def|class)\s+(\w+)", source, re.MULTILINE))
        for line in re.findall(r"^\s*(?:from\s+[\w.]+\s+)?import\s+(.+)$", source, re.MULTILINE):
            found |= {part.split()[-1].strip("()").split(".")[0] for part in line.split(",") if part.strip()}
    return frozenset(found)
