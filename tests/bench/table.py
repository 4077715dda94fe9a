"""Rows as lines of text. Plain Python: the driver, the page and the tests use it alike."""

from __future__ import annotations

from typing import Any


def number(value: float | None, digits: int = 3) -> str:
    """Three figures, no exponent: 0.0123, 1.23, 123, 12345; "-" for none."""
    if value is None:
        return "-"
    if value == 0 or abs(value) >= 10 ** (digits - 1):
        return f"{value:.0f}"
    whole = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    lead = 0
    while whole == 0 and abs(value) * 10 ** (lead + 1) < 1:
        lead += 1
    return f"{value:.{max(0, digits - whole) + lead}f}"


def percent(value: float | None) -> str:
    """A share as whole percent."""
    return "-" if value is None else f"{100 * value:.0f}%"


def header() -> str:
    """The columns' names, and what they mean."""
    return (
        f"{'what':18}{'shape':>16}{'GPU ms':>9}{'wall ms':>9}{'GFLOP/s':>9}{'GB/s':>7}"
        f"{'limit':>7}{'tile':>7}  route; a peer's GPU (and wall) time over ours"
    )


def line(row: dict[str, Any]) -> str:
    """One row: what its time is worth, its route, and each peer's times over ours."""
    head = f"{row['what']:18}{row['shape']:>16}"
    if row.get("error"):
        return f"{head}  failed: {row['error']}"
    text = (
        f"{head}{number(row['gpu_ms']):>9}{number(row['wall_ms']):>9}{number(row['gflops']):>9}"
        f"{number(row['gbs'], 2):>7}{percent(row['of_limit']):>7}{percent(row['of_tile']):>7}"
        f"  {row['route']}"
    )
    peers = [f"{name} {beside(row, peer)}" for name, peer in row.get("peers", {}).items()]
    return f"{text}; {', '.join(peers)}" if peers else text


def beside(row: dict[str, Any], peer: dict[str, Any]) -> str:
    """A peer's time over ours, by GPU time and in brackets by wall time, or why there is none."""
    if peer.get("error"):
        return f"failed ({peer['error'][:80]})"
    ratios = [ratio(peer.get(key), row.get(key)) for key in ("gpu_ms", "wall_ms")]
    gpu, wall = ("-" if r is None else f"{number(r)}x" for r in ratios)
    return f"{gpu} ({wall})"


def ratio(theirs: float | None, ours: float | None) -> float | None:
    """How many times longer they take."""
    return theirs / ours if theirs and ours else None


def markdown(rows: list[dict[str, Any]]) -> str:
    """The rows as a table for docs/performance.md."""
    names = sorted({name for row in rows for name in row.get("peers", {})})
    heads = ["what", "shape", "GPU ms", "GFLOP/s", "GB/s", "of limit", "of tile", "route", *names]
    lines = [heads, ["---"] * 2 + ["--:"] * 5 + ["---"] + ["--:"] * len(names)]
    for row in rows:
        if row.get("error"):
            lines.append([row["what"], row["shape"], "failed", "", "", "", "", row["error"]])
            continue
        peers = row.get("peers", {})
        lines.append([
            row["what"], row["shape"], number(row["gpu_ms"]), number(row["gflops"]),
            number(row["gbs"]), percent(row["of_limit"]), percent(row["of_tile"]), row["route"],
            *(beside(row, peers[name]) if name in peers else "" for name in names),
        ])  # fmt: skip
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
