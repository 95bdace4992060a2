"""The course's sign as pictures, for browsers and telephones that take no SVG: `python book/_ext/icons.py` draws them.

They are drawn from book/_static/favicon.svg, which holds rectangles, circles and paths of lines and curves.
"""

import re
from pathlib import Path
from xml.etree import ElementTree

from PIL import Image, ImageDraw

STATIC = Path(__file__).resolve().parents[1] / "_static"
SIGN = STATIC / "favicon.svg"

# File, pixels a side, ground, and the share of a side that stays free on each. A telephone puts no ground behind an icon.
ICONS = (("favicon.png", 96, None, 0.0), ("apple-touch-icon.png", 180, "white", 0.09))

# A pixel is the mean of so many a side, and a curve so many lines.
FINER, LINES = 8, 64


def drawn(size: int, ground: str | None, free: float, sign: Path = SIGN) -> Image.Image:
    """The sign as a square picture.

    Raises:
        ValueError: if it holds what cannot be drawn here.
    """
    root = ElementTree.parse(sign).getroot()
    side = size * FINER
    left, top, width, _ = (float(number) for number in root.attrib["viewBox"].split())
    scale = side * (1 - 2 * free) / width

    def at(x: float, y: float) -> tuple[float, float]:
        return (x - left) * scale + free * side, (y - top) * scale + free * side

    picture = Image.new("RGBA", (side, side), ground or (0, 0, 0, 0))
    pen = ImageDraw.Draw(picture)

    def dot(x: float, y: float, radius: float, colour: str) -> None:
        pen.ellipse([*at(x - radius, y - radius), *at(x + radius, y + radius)], fill=colour)

    for node in root:
        kind, has = node.tag.rpartition("}")[2], node.attrib
        number = {name: float(text) for name, text in has.items() if re.fullmatch(r"-?[\d.]+", text)}
        if kind == "rect":
            half = number["stroke-width"] / 2
            x, y, right, bottom = number["x"], number["y"], number["width"], number["height"]
            pen.rounded_rectangle(
                [*at(x - half, y - half), *at(x + right + half, y + bottom + half)],
                radius=(number["rx"] + half) * scale,
                outline=has["stroke"],
                width=round(2 * half * scale),
            )
        elif kind == "circle":
            dot(number["cx"], number["cy"], number["r"], has["fill"])
        elif kind == "path":
            # A round pen: a dot at every point, and lines between them.
            half, points = number["stroke-width"] / 2, corners(has["d"])
            for x, y in points:
                dot(x, y, half, has["stroke"])
            pen.line([at(x, y) for x, y in points], fill=has["stroke"], width=round(2 * half * scale))
        else:
            raise ValueError(f"{sign.name} holds a {kind}, which is not drawn here")
    return picture.resize((size, size), Image.Resampling.BOX)


def corners(path: str) -> list[tuple[float, float]]:
    """The points of a path of lines and cubic curves.

    Raises:
        ValueError: names a command that is not understood.
    """
    points: list[tuple[float, float]] = []
    for command, text in re.findall(r"([A-Za-z])([^A-Za-z]*)", path):
        given = [float(number) for number in re.findall(r"-?[\d.]+", text)]
        if command == "M":
            points.append((given[0], given[1]))
        elif command == "H":
            points += [(x, points[-1][1]) for x in given]
        elif command == "C":
            for k in range(0, len(given), 6):
                bend = [points[-1], *zip(given[k : k + 6 : 2], given[k + 1 : k + 6 : 2], strict=True)]
                for t in (n / LINES for n in range(1, LINES + 1)):
                    share = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3)
                    x, y = (sum(s * b[axis] for s, b in zip(share, bend, strict=True)) for axis in (0, 1))
                    points.append((x, y))
        else:
            raise ValueError(f"a path with the command {command!r}, which is not drawn here")
    return points


def main() -> None:
    """Draw all of them into book/_static."""
    for name, size, ground, free in ICONS:
        drawn(size, ground, free).save(STATIC / name, optimize=True)


if __name__ == "__main__":
    main()
