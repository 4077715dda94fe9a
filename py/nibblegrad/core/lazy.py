"""numpy, when it is first needed: the wheel starts, loads and trains in a page without it."""

from __future__ import annotations

from typing import Any


class _Numpy:
    """Stands for the numpy module; importing it is put off to the first attribute."""

    def __getattr__(self, name: str) -> Any:
        import numpy

        return getattr(numpy, name)


np: Any = _Numpy()
