"""Training rows: what is read, what is refused and how, and which tokens carry loss."""

import json
import re
from pathlib import Path

import pytest
from test_tokenizer import SMOLLM2, needs_model, needs_node, results

from nibblegrad.core.errors import FormatError
from nibblegrad.io import chat, gguf, tokenizer

DATA = Path(chat.__file__).parents[1] / "data"
USER, ANSWER = {"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}


class Words:
    """ChatML over a toy tokenizer: a token is a marker, a word with its blank, or one character."""

    eos_ids = (2,)

    def __init__(self, turn="<{role}>\n{content}</>\n", opening="<assistant>\n"):
        self.vocabulary = ["", "", "</>"]
        self.turn, self.opening = turn, opening

    def encode(self, text, special, /):
        parts = re.findall(r"</?\w*>| ?\w+|.", text, re.S)
        self.vocabulary += [p for p in dict.fromkeys(parts) if p not in self.vocabulary]
        return ([1] if special else []) + [self.vocabulary.index(p) for p in parts]

    def render(self, messages_json, add_generation_prompt, /):
        turns = [self.turn.format(**m) for m in json.loads(messages_json)]
        return "".join(turns) + self.opening * add_generation_prompt

    def text(self, ids):
        return "".join(self.vocabulary[i] for i in ids)


def row(**changes):
    return json.dumps({"messages": [USER, ANSWER]} | changes)


def test_reads_messages_and_pairs_of_prompt_and_completion():
    text = row() + "\n\n" + json.dumps({"prompt": "hi", "completion": "ho", "id": 3}) + "\r\n"
    assert chat.read_chat(text) == [[USER, ANSWER]] * 2


def test_reads_files(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b"\xef\xbb\xbf" + row().encode() + b"\r\n")
    (tmp_path / "b.TXT").write_text("one\ntwo\n\n \n\n  three\n")
    assert chat.read_chat(str(tmp_path / "a.jsonl")) == [[USER, ANSWER]]
    assert chat.read_chat(tmp_path / "b.TXT") == ["one\ntwo", "  three"]


def test_other_keys_are_left_out():
    messages = [{"role": "system", "content": ""}, USER | {"name": "x"}, ANSWER]
    assert chat.read_chat(row(messages=messages, score=1))[0][1] == USER


BAD = {
    "{": "not JSON: Expecting property name",
    "[1]": "a JSON list; each line must be an object",
    "{}": "needs messages, or prompt and completion; has nothing",
    '{"conversations": []}': "needs messages, or prompt and completion; has conversations",
    '{"prompt": "x"}': "has prompt",
    '{"prompt": ["x"], "completion": "y"}': "message 1 has content of type list, not text",
    row(messages=[]): "messages must be a list with at least one message",
    row(messages="x"): "messages must be a list",
    row(messages=["x"]): "message 1 is no object",
    row(messages=[USER]): "no message is the assistant's, so there is nothing to learn",
    row(messages=[USER | {"role": "human"}, ANSWER]): "message 1 has role 'human'; known: system",
    row(messages=[{"content": "x"}]): "message 1 has role None",
    row(messages=[USER, ANSWER | {"content": None}]): "content of type NoneType, not text",
    row(messages=[USER, ANSWER | {"content": " \n"}]): "message 2 (assistant) is empty",
    row(messages=[USER, {"role": "system", "content": "x"}, ANSWER]): "only the first can be",
    row(messages=[USER, ANSWER | {"content": "\ud83d"}]): "half a surrogate pair",
    '{"a":' * 100_000: "nested deeper than 128 levels",
    '{"a": ' + "1" * 5000 + "}": "integer string conversion",
}


@pytest.mark.parametrize("line", BAD, ids=range(len(BAD)))
def test_names_what_is_wrong_with_a_row(line):
    with pytest.raises(FormatError) as e:
        chat.read_chat(row() + "\n" + line + "\n")
    assert str(e.value).startswith("data: line 2: ")
    assert BAD[line] in str(e.value)


def test_tells_all_bad_rows_at_once():
    with pytest.raises(FormatError) as e:
        chat.read_chat("\n".join([row(), *BAD, row(), "x"]))
    lines = str(e.value).splitlines()
    assert lines[0] == f"data: {len(BAD) + 1} faults"
    assert [int(re.match(r"  line (\d+): ", s)[1]) for s in lines[1:]] == [
        *range(2, len(BAD) + 2),
        len(BAD) + 3,
    ]


@pytest.mark.parametrize(
    ("name", "raw", "says"),
    [
        ("a.jsonl", b"", "a.jsonl: no examples; the file is empty"),
        ("a.jsonl", b"\n \n", "a.jsonl: no examples"),
        ("a.txt", b" \n\n", "a.txt: no examples"),
        ("a.jsonl", b"{}\n\n\xff", "a.jsonl: line 3: not UTF-8"),
        ("a.csv", b"x", "a.csv: cannot read '.csv'; give a .jsonl or .txt file"),
        ("a.jsonl", None, "a.jsonl: cannot be read: No such file"),
    ],
)
def test_names_what_is_wrong_with_a_file(tmp_path, name, raw, says):
    if raw is not None:
        (tmp_path / name).write_bytes(raw)
    with pytest.raises(FormatError, match=re.escape(says)):
        chat.read_chat(tmp_path / name)


def learnt(codec, messages):
    ids, labels = chat.encode_chat(codec, messages)
    assert len(ids) == len(labels)
    assert all(label in (token, -100) for token, label in zip(ids, labels, strict=True))
    marks = [codec.text([i]) if label == i else "." for i, label in zip(ids, labels, strict=True)]
    return codec.text(ids), re.sub(r"\.+", "|", "".join(marks))


def test_only_answers_and_their_end_carry_loss():
    two = [{"role": "system", "content": "s"}, USER, ANSWER, USER, {**ANSWER, "content": "he he"}]
    text, marks = learnt(Words(), two)
    assert text == Words().render(json.dumps(two), False)
    assert marks == "|ho</>|he he</>|"


def test_a_last_question_and_a_first_answer():
    assert learnt(Words(), [ANSWER, USER]) == ("<assistant>\nho</>\n<user>\nhi</>\n", "|ho</>|")


def test_without_an_end_token_the_whole_answer_carries_loss():
    codec = Words("{role}: {content}\n", "assistant:")
    assert learnt(codec, [USER, ANSWER])[1] == "| ho\n"


def test_the_prompts_tokens_are_what_generation_sees():
    codec = Words("<{role}>{content}</>", "<assistant>")
    # encoded in one go, "x" would take the blank in front of "ho" and the border would be lost
    chats = [USER, ANSWER | {"content": " ho"}, USER, ANSWER]
    ids, labels = chat.encode_chat(codec, chats)
    for n in (1, 3):
        prompt = chat.encode_prompt(codec, chats[:n])
        assert prompt == ids[: len(prompt)]
        assert labels[len(prompt) - 1] == -100 != labels[len(prompt)]


@pytest.mark.parametrize(
    ("turn", "opening"),
    [("<{role}>{content}</>", "<assistant><think>"), ("<{role}>{content}", "</s><assistant>")],
)
def test_refuses_a_template_that_rewrites_its_past(turn, opening):
    with pytest.raises(FormatError, match="chat template: 2 messages do not begin like fewer"):
        chat.encode_chat(Words(turn, opening), [USER, ANSWER])


def test_every_token_of_a_document_carries_loss():
    ids, labels = chat.encode_row(Words(), "one two")
    assert ids == labels and ids[0] == 1 and len(ids) == 3


class Node:
    """The real tokenizer, one node process a call."""

    def __init__(self, spec):
        self.spec, self.eos_ids = spec, spec["eos_ids"]

    def encode(self, text, special, /):
        return results(self.spec, [["encode", text, special]])[0]

    def render(self, messages_json, add_generation_prompt, /):
        return results(self.spec, [["render", messages_json, add_generation_prompt]])[0]


@needs_node
@needs_model
def test_smollm2_learns_the_answer_and_its_end():
    with SMOLLM2.open("rb") as f:
        header = gguf.parse(f.read(2 << 20), SMOLLM2.stat().st_size)
    codec = Node(tokenizer.from_gguf(header.metadata))
    ids, labels = chat.encode_chat(codec, [USER, ANSWER])
    answer = codec.encode("ho", False)
    assert labels[-1] == -100 and labels[-2] == 2  # <|im_end|> is learnt, the newline is not
    assert [i for i in labels if i >= 0] == [*answer, 2]
    whole = codec.render(json.dumps([USER]), True)
    assert (
        chat.encode_prompt(codec, [USER]) == codec.encode(whole, False) == ids[: -len(answer) - 2]
    )


def test_our_own_data_is_whole():
    train, held_out = (chat.read_chat(DATA / f"plume{s}.jsonl") for s in ("", "-heldout"))
    assert (len(train), len(held_out)) == (60, 8)
    questions = [r[0]["content"] for r in train + held_out]
    assert len(set(questions)) == 68 and "What is a plume?" in questions[:60]
    assert all(len(r) == 2 and len(r[1]["content"].split()) <= 30 for r in train + held_out)
