"""One file per architecture, named as its config's model_type; and loading from files."""

from .load import load

__all__ = ["load"]
