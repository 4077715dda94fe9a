"""WGSL from whole files: prelude + units + kernel. No file is edited, only chosen."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources

from ..core.errors import NibblegradError
from ..core.launch import Generated, Launch

_NEEDS = re.compile(r"^// needs: (.+)$", re.M)
_BINDING = re.compile(r"@group\((\d)\) @binding\((\d+)\) var<(storage, read_write|storage|uniform)")
_DIRECTIVE = re.compile(r"^(?:enable|requires|diagnostic)\b[^;]*;\n", re.M)
_LETTER = {"storage, read_write": "w", "storage": "r", "uniform": "u"}


@dataclass(frozen=True)
class Linked:
    """A module's text, its label, and its bindings: one string a group, a letter a binding."""

    label: str
    source: str
    layout: str


@cache
def shader(name: str) -> str:
    """The text of shaders/NAME.wgsl, from the wheel or the source tree."""
    root = resources.files("nibblegrad")
    for folder in (root / "shaders", root / ".." / ".." / "shaders"):
        path = folder / f"{name}.wgsl"
        if path.is_file():
            return path.read_text()
    raise NibblegradError(f"link: there is no shader '{name}.wgsl'")


def link(launch: Launch) -> Linked:
    """Put a launch's module together."""
    parts: dict[str, str] = {}
    for unit in launch.link:
        if isinstance(unit, Generated):
            parts[unit.key] = unit.text
        else:
            _add(unit, parts)
    _add(launch.kernel, parts)
    prelude = "".join(
        f"const {name} = {value}u;\n" if isinstance(value, int) else f"alias {name} = {value};\n"
        for name, value in launch.const.items()
    )
    body = "\n".join(parts.values())
    directives = dict.fromkeys(_DIRECTIVE.findall(body))  # WGSL wants them before everything else
    source = "".join(directives) + prelude + _DIRECTIVE.sub("", body)
    return Linked(label(launch), source, layout(source))


def _add(name: str, parts: dict[str, str]) -> None:
    """A file after everything it needs, each once."""
    if name in parts:
        return
    text = shader(name)
    for needs in _NEEDS.findall(text):
        for unit in needs.split():
            _add(unit, parts)
    parts[name] = text


def label(launch: Launch) -> str:
    """Readable, and unique to the pipeline: `matmul/linear_tile q4_1 ROWS=8`."""
    units = [u.key if isinstance(u, Generated) else u.rpartition("/")[2] for u in launch.link]
    numbers = [f"{k}={v}" for k, v in {**launch.const, **launch.override}.items()]
    return " ".join([launch.kernel, *units, *numbers])


def layout(source: str) -> str:
    """Binding letters of groups 0, 1 and 2; group 1 is always params and step."""
    groups: list[dict[int, str]] = [{}, {0: "u", 1: "u"}, {}]
    for group, binding, kind in _BINDING.findall(source):
        groups[int(group)][int(binding)] = _LETTER[kind]
    return "|".join("".join(g[i] for i in sorted(g)) for g in groups)
