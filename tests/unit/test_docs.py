"""docs/ops.md is what the catalogue, the bindings and the last whole conformance run say."""

import json

from driver import docs
from nibblegrad.ops.op import CATALOGUE


def test_ops_md_is_fresh():
    """Stale: run `build.py docs`."""
    assert docs.PAGE.read_text(encoding="utf-8") == docs.text()


def test_every_operator_is_told_once():
    lines = docs.text().splitlines()
    for name in CATALOGUE:
        assert sum(line.startswith(f"| `{name}` |") for line in lines) >= 1, name


def test_names_are_told_by_the_operators_that_run_them():
    bound = docs.bound()
    assert "aten.add.Tensor" in bound["add"]
    assert "sdpa_with_kv_cache.default" in bound["update_cache"]  # through a function that calls it
    assert "et_vk.prepack.default" in bound[""]


def test_the_record_is_of_a_whole_run():
    kept = json.loads(docs.RECORD.read_text(encoding="utf-8"))
    rows = kept["rows"]
    assert (kept["suites"], kept["cases"], len(rows)) == (87, 380, 380)
    assert kept["passed"] == sum(row["passed"] for row in rows)
    assert all(row["uses"] for row in rows)
