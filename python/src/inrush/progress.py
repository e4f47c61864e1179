"""A bar of progress, by tqdm."""

from __future__ import annotations

import json
import sys
from typing import Any, Dict, List, Optional

from .program import find_program, knows


class Progress:
    """Reads the lines of ``--progress json``, and draws them."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar

    @staticmethod
    def of(wanted: Optional[bool], command: str, rows: Optional[int]) -> Optional["Progress"]:
        """A bar if it is wanted; with None, if tqdm is installed and somebody sees it."""
        if wanted is False or not knows(find_program(), command, "progress"):
            return None
        try:
            from tqdm.auto import tqdm
        except ImportError:
            if wanted:
                raise ImportError("progress=True needs tqdm (pip install tqdm)") from None
            return None
        if wanted is None and not (sys.stderr.isatty() or "ipykernel" in sys.modules):
            return None
        return Progress(tqdm(total=rows, unit=" rows", unit_scale=True, desc="inrush"))

    def arguments(self) -> List[str]:
        """The option that asks for the lines."""
        return ["--progress=json"]

    def take(self, line: str) -> bool:
        """Draws a line of progress; false for other lines."""
        if not line.startswith("{"):
            return False
        try:
            told = json.loads(line)
        except ValueError:
            return False
        if not isinstance(told, dict) or "inrush_progress" not in told:
            return False
        try:
            self._draw(told)
        except Exception:
            # A terminal or a notebook that has gone stops no load.
            self._bar = None
        return True

    def _draw(self, told: Dict[str, Any]) -> None:
        if self._bar is None:
            return
        phase, rows, percent = told.get("phase"), told.get("rows"), told.get("percent")
        if phase:
            self._bar.set_description_str(str(phase), refresh=False)
        if isinstance(percent, (int, float)):
            self._bar.set_postfix_str(f"{percent:.0f} %", refresh=False)
        if isinstance(rows, (int, float)):
            self._bar.n = max(self._bar.n, rows)
        self._bar.refresh()

    def close(self) -> None:
        """Ends the bar."""
        try:
            if self._bar is not None:
                self._bar.close()
        except Exception:
            self._bar = None
