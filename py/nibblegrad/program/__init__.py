"""ExecuTorch programs, run by the catalogue: read, bound by name, recorded once a shape."""

from .load import load_pte
from .model import Model

__all__ = ["Model", "load_pte"]
