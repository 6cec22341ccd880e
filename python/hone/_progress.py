"""How far a session is: a line in a terminal, a bar in a notebook, nothing where nobody looks."""

from __future__ import annotations

import re
import sys

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def limits(budget: str) -> tuple[float | None, int | None]:
    """Seconds and trials of "30s", "5m,200trials"."""
    seconds = trials = None
    for part in budget.replace(" ", "").split(","):
        match = re.fullmatch(r"([0-9.]+)(s|m|h|trials?)", part)
        if match and match[2] in _UNITS:
            seconds = float(match[1]) * _UNITS[match[2]]
        elif match:
            trials = int(float(match[1]))
    return seconds, trials


class Progress:
    """Is told of every trial, keeps the convergence curve, and shows it. shows: None: where a terminal or a notebook is."""

    def __init__(self, title: str, budget: str, shows: bool | None):
        self.title, (self._seconds, self._trials) = title, limits(budget)
        self.curve: list[tuple[float, float]] = []
        self.default_us: float | None = None
        self._display = None
        self._line = False
        if shows is not False:
            self._display = _notebook_display(self._html(0.0, ""))
            self._line = self._display is None and (shows is True or (sys.stderr is not None and sys.stderr.isatty()))

    def __call__(self, event: tuple) -> None:
        trials, seconds, _, default_us, best_us, kernel = event
        self.default_us = default_us or self.default_us
        if best_us is not None and (not self.curve or best_us < self.curve[-1][1]):
            self.curve.append((seconds, best_us))
        if self._display is None and not self._line:
            return
        done = max(seconds / self._seconds if self._seconds else 0.0, trials / self._trials if self._trials else 0.0)
        best = f"  best {best_us:.2f} us" + (f" ({default_us / best_us:.2f}x)" if default_us and best_us else "") if best_us else ""
        text = f"{trials} trials  {seconds:.1f} s{best}" + (f"  {kernel}" if kernel else "")
        if self._display is not None:
            self._display.update(_Html(self._html(min(done, 1.0), text)))
        else:
            filled = int(24 * min(done, 1.0))
            sys.stderr.write(f"\r\033[K{self.title} [{'#' * filled}{'.' * (24 - filled)}] {text}")
            sys.stderr.flush()

    def close(self, final_seconds: float | None = None, final_us: float | None = None) -> None:
        """Ends the line, and the curve with what the final round measured."""
        if final_us is not None and final_seconds is not None:
            self.curve.append((max(final_seconds, self.curve[-1][0] if self.curve else 0.0), final_us))
        if self._line:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()

    def _html(self, done: float, text: str) -> str:
        from html import escape

        return f"<div>{escape(self.title)} <progress value='{done:.3f}' max='1'></progress> {escape(text)}</div>"


class _Html:
    def __init__(self, text: str):
        self._text = text

    def _repr_html_(self) -> str:
        return self._text


def _notebook_display(text: str):
    """A handle whose content can be replaced; None outside a notebook. IPython is imported where one runs."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import display

    return display(_Html(text), display_id=True)
