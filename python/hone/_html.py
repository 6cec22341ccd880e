"""What results look like in a notebook: plain HTML and SVG, without a script or a style sheet."""

from __future__ import annotations

from html import escape
from typing import Any, Iterable, Mapping, Sequence


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    head = "".join(f"<th>{escape(str(column))}</th>" for column in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(_text(value))}</td>" for value in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def definition_list(title: str, values: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(str(key))}</th><td style='text-align:left'>{escape(_text(value))}</td></tr>"
        for key, value in values.items()
        if value not in (None, "", [], {})
    )
    return f"<div><b>{escape(title)}</b><table>{rows}</table></div>"


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={_text(one)}" for key, one in value.items())
    return "" if value is None else str(value)


def curve(points: Sequence[tuple[float, float]], default_us: float | None, width: int = 480, height: int = 140) -> str:
    """The best time so far over a session's seconds, as steps; the default's time is dashed. Empty with fewer than two points."""
    if len(points) < 2:
        return ""
    pad = 34
    last = max(points[-1][0], 1e-9)
    low = min(best for _, best in points)
    high = max([best for _, best in points] + ([default_us] if default_us else []))
    span = (high - low) or high or 1.0

    def at(seconds: float, best: float) -> tuple[float, float]:
        return pad + (width - 2 * pad) * seconds / last, pad / 2 + (height - 1.5 * pad) * (high - best) / span

    steps = []
    before = None
    for seconds, best in points:
        x, y = at(seconds, best)
        if before is not None:
            steps.append(f"{x:.1f},{before:.1f}")
        steps.append(f"{x:.1f},{y:.1f}")
        before = y
    dashed = ""
    if default_us:
        _, y = at(0, default_us)
        dashed = f"<line x1='{pad}' x2='{width - pad}' y1='{y:.1f}' y2='{y:.1f}' stroke='gray' stroke-dasharray='4 3'/>"
    text = "font-family='sans-serif' font-size='10' fill='gray'"
    return (
        f"<svg width='{width}' height='{height}' xmlns='http://www.w3.org/2000/svg'>{dashed}"
        f"<polyline points='{' '.join(steps)}' fill='none' stroke='#1f77b4' stroke-width='1.5'/>"
        f"<text x='{pad}' y='{height - 4}' {text}>0 s</text><text x='{width - pad - 24}' y='{height - 4}' {text}>{last:.1f} s</text>"
        f"<text x='2' y='{pad / 2 + 4}' {text}>{high:.3g}</text><text x='2' y='{height - pad}' {text}>{low:.3g}</text></svg>"
    )
