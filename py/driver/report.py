"""Prints a fine-tuning job's events for a person, as they come. Knows nothing of the job."""

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn
from rich.table import Table
from rich.text import Text

Event = dict[str, Any]
LINES = 20  # where there is no terminal: so many lines of progress


class Report:
    """show() each event, inside `with`; then the done event is `summary`."""

    def __init__(self, to_stderr: bool = False):
        self.console = Console(stderr=to_stderr, highlight=False)
        self.summary: Event = {}
        self._tasks: dict[str, TaskID] = {}
        self._live = Progress(
            TextColumn("{task.description:<9}"),
            BarColumn(None),
            MofNCompleteColumn(),
            TextColumn("{task.fields[tail]}"),
            console=self.console,
            disable=not self.console.is_terminal,
        )

    def __enter__(self) -> "Report":
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show(self, event: Event) -> None:
        if event["type"] in ("stdout", "stderr"):
            self._line("", event["text"].rstrip("\n"))
        elif event["type"] == "job":
            getattr(self, "_" + event["event"], self._other)(event)

    def status(self, text: str) -> None:
        self._line("", text)

    def results(self, folder: Path, names: list[str]) -> None:
        self._line("results", str(folder))
        for name in names:
            self._line("", f"  {name}")

    def _line(self, label: str, text: str) -> None:
        if not self.console.is_terminal:  # one line stays one line in a log
            self.console.print(f"{label:<9} {text}", soft_wrap=True, markup=False)
            return
        row = Table.grid(padding=(0, 1))
        row.add_column(width=9)
        row.add_row(Text(label, "bold"), Text(text))
        self.console.print(row)

    def _other(self, event: Event) -> None:
        """An event this driver does not know is not an error."""

    def _adapter(self, event: Event) -> None:
        info = event["info"]
        name = info.get("description") or f"{info.get('vendor')} {info.get('architecture')}"
        slow = "; a software adapter: slow, so few and short steps by default"
        self._line("adapter", name + (slow if info.get("fallback") else ""))

    def _loading(self, event: Event) -> None:
        done, total = event["loaded"] / 1e6, event["total"] / 1e6
        self._advance("loading", round(done), round(total), "MB")

    def _model(self, event: Event) -> None:
        self._line(
            "model",
            f"{event['name']}, {event['bytes'] / 1e6:.1f} MB, {event['tensors']} tensors, "
            f"licence {event['license'] or 'not stated'}, loaded in {event['load_s']:.1f} s",
        )

    def _data(self, event: Event) -> None:
        self._line(
            "data",
            f"{event['source']}, {event['train']} examples and {event['heldout']} held out, "
            f"{event['tokens']} tokens",
        )

    def _note(self, event: Event) -> None:
        self._line("note", event["text"])

    def _config(self, event: Event) -> None:
        shown = ["steps", "seq_len", "batch_size", "learning_rate", "lora_r", "lora_alpha"]
        known = [f"{name} {event[name]}" for name in shown if name in event]
        self._line("options", ", ".join([*known, *self._modules(event)]))

    def _modules(self, event: Event) -> list[str]:
        names = event.get("target_modules")
        return [f"on {' '.join(names)}"] if isinstance(names, list) else []

    def _eval(self, event: Event) -> None:
        self._line("held out", f"loss {event['loss']:.4f} {event['when']} training")

    def _sample(self, event: Event) -> None:
        self._line("sample", f"{event['when']} training: {event['prompt']}")
        for line in event["text"].strip().splitlines():
            self._line("", f"  {line}")

    def _step(self, event: Event) -> None:
        step, steps = event["step"], event["steps"]
        tail = (
            f"loss {event['loss']:.4f}  {event['tokens_per_s']:.0f} tokens/s  "
            f"{_time(event['eta_s'])} left"
        )
        if not self.console.is_terminal:
            if step in (1, steps) or step % max(1, steps // LINES) == 0:
                self._line("step", f"{step}/{steps}  {tail}")
            return
        self._advance("training", step, steps, tail)

    def _advance(self, name: str, done: int, total: int, tail: str) -> None:
        """The bar of this name; that of loading goes when it is full."""
        if name not in self._tasks:
            self._tasks[name] = self._live.add_task(name, total=total, tail=tail)
        self._live.update(self._tasks[name], completed=done, total=total, tail=tail)
        if name == "loading" and done >= total:
            self._live.remove_task(self._tasks.pop(name))

    def _saved(self, event: Event) -> None:
        """The files are told when they are here."""

    def _done(self, event: Event) -> None:
        self.summary = {k: v for k, v in event.items() if k not in ("type", "event")}
        before, after = event.get("eval_before"), event.get("eval_after")
        if before is not None and after is not None:
            self._line("learned", f"held-out loss {before:.4f} before, {after:.4f} after")


def _time(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole // 60}:{whole % 60:02}"
