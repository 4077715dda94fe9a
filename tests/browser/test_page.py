"""The page: labelled, narrow enough for a phone, and its errors are for people."""

from pathlib import Path

from driver.session import Session

FINETUNE = "([config]) => driver.finetune(config)"
ALERT = "() => document.querySelector('#alert').innerText"


def test_every_field_has_a_label(page: Session):
    source = "() => [...document.querySelectorAll('input')].filter((i) => !i.labels.length).length"
    assert page.call(source) == 0


def test_it_is_no_wider_than_a_phone(page: Session):
    source = """() => new Promise((done) => {
      const frame = document.createElement("iframe");
      frame.style.cssText = "width: 320px; height: 600px; position: absolute; left: -999px";
      frame.src = location.href;
      frame.onload = () => setTimeout(() => {
        done(frame.contentDocument.documentElement.scrollWidth);
        frame.remove();
      }, 300);
      document.body.append(frame);
    })"""
    assert page.call(source) <= 320


def test_a_broken_model_is_refused_in_one_sentence(page: Session, tmp_path: Path):
    (tmp_path / "broken.gguf").write_bytes(b"GGUF" + bytes(60))
    model = page.add_file(tmp_path / "broken.gguf")
    end = page.call(FINETUNE, {"model": model, "out": "/out"})
    assert not end["ok"]
    assert end["error"].startswith("gguf: ") and "Traceback" not in end["error"]
    assert page.call(ALERT) == end["error"].strip().splitlines()[-1]


def test_a_missing_model_is_named(page: Session):
    end = page.call(FINETUNE, {"model": "/files/none.gguf", "out": "/out"})
    assert not end["ok"] and "/files/none.gguf" in end["error"]
