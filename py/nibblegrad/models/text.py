"""A model's tokenizer and chat template: JavaScript's libraries behind a Python face."""

from __future__ import annotations

import json
from typing import Any

from ..core.errors import FormatError
from ..gpu.webgpu import to_js_list
from ..io.chat import encode_prompt


class Tokenizer:
    """Text to token ids and back. Made from the model file's own metadata."""

    def __init__(self, inner: Any, spec: dict[str, Any]):
        self._inner, self._spec = inner, spec
        self._eos_ids = tuple(spec["eos_ids"])
        self.has_template = bool(spec["template"])

    @property
    def eos_ids(self) -> tuple[int, ...]:
        """Tokens that end a turn."""
        return self._eos_ids

    def encode(self, text: str, add_special_tokens: bool = False) -> list[int]:
        """Token ids of a text."""
        return [int(i) for i in self._inner.encode(text, add_special_tokens)]

    def decode(self, ids: list[int], skip_special_tokens: bool = True) -> str:
        """The text of token ids."""
        return str(self._inner.decode(to_js_list(ids), skip_special_tokens))

    def apply_chat_template(
        self, messages: list[dict[str, str]], add_generation_prompt: bool = True
    ) -> str:
        """The text a chat becomes, by the model's template. FormatError when it has none."""
        if not self.has_template:
            raise FormatError("tokenizer: this model has no chat template; give plain text")
        return self.render(json.dumps(messages), add_generation_prompt)

    def render(self, messages_json: str, add_generation_prompt: bool) -> str:
        """The template over JSON messages."""
        try:
            return str(self._inner.render(messages_json, add_generation_prompt))
        except Exception as error:
            raise FormatError(f"tokenizer: {str(error).removeprefix('Error: ')}") from None

    def encode_prompt(self, prompt: Any) -> list[int]:
        """Ids for generating: messages or a question through the chat template, or plain text."""
        if isinstance(prompt, str) and not self.has_template:
            return self.encode(prompt, True)
        messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
        return encode_prompt(self, messages)


async def open_tokenizer(dev: Any, spec: dict[str, Any]) -> Tokenizer | None:
    """The page's tokenizer for this spec; None on devices without JavaScript."""
    made = getattr(getattr(dev, "rt", None), "tokenizer", None)
    if made is None:
        return None
    try:
        return Tokenizer(await made(json.dumps(spec)), spec)
    except Exception as error:
        raise FormatError(f"tokenizer: {str(error).removeprefix('Error: ')}") from None
