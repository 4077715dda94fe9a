# ruff: noqa: RUF001 - letters that look alike are what this file is about
"""Writes tests/data/tokenizer-strings.json: 200 strings and SmolLM2's token ids for each.

Two references have to agree: Rust `tokenizers`, put together here the way Hugging Face's own
tokenizer.json of SmolLM2 is (Digits, then ByteLevel), and llama.cpp reading the GGUF itself.
Nothing of nibblegrad is imported. Run in a scratch environment:

    python -m venv /tmp/golden && /tmp/golden/bin/pip install gguf tokenizers xllamacpp
    /tmp/golden/bin/python tests/oracle/make_tokenizer_golden.py
"""

import json
import random
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODEL = ROOT / ".cache/models/SmolLM2-135M-Instruct.Q4_1.gguf"
OUT = ROOT / "tests/data/tokenizer-strings.json"

BY_HAND = {
    "plain": [
        "",
        "a",
        "Hello, world!",
        "The quick brown fox jumps over the lazy dog.",
        "I'm sure they've said we'll go; he'd know it's Tom's, isn't it? You're right.",
        "I'M SURE THEY'VE SAID WE'LL GO, IT'S TOM'S, ISN'T IT",
        "don’t ‘quote’ “me” — or do… you?",
        "antidisestablishmentarianism pneumonoultramicroscopicsilicovolcanoconiosis",
        "A.B.C. e.g. i.e. etc. vs. Dr. Smith-Jones et al.",
        "snake_case camelCase PascalCase SCREAMING_SNAKE kebab-case",
        "www.example.com/path?q=1&r=%20#frag user@example.org",
        "Price: $1,234.56 (−5 %) £3 €4 ¥500",
    ],
    "blanks": [
        " ",
        "  ",
        "   ",
        "\n",
        "\n\n",
        "\n\n\n\n",
        "\t",
        "\t\t\tx",
        "\r\n",
        "a\r\nb\r\n\r\nc",
        " leading",
        "trailing ",
        "  two  spaces  between  ",
        "a \n b \n\n  c",
        "    indented\n        more\n\tand a tab",
        "x" + " " * 40 + "y",
        "end with spaces     ",
        "end with newlines\n\n\n",
        "a\u00a0b\u00a0\u00a0c",
        "a\u2003b\u2009c\u3000d",
        "a\u0085b\u2028c\u2029d",
        "\ufeffbyte order mark\ufeff \ufeff",
        "zero\u200bwidth\u200b space",
        " \u00a0 \t \u3000 \n ",
        "vertical\x0btab and form\x0cfeed",
    ],
    "digits": [
        "0",
        "1234567890",
        "3.14159 2,718 1e-5 0x1F 0b101 1_000_000",
        "2024-12-31T23:59:59Z",
        "a1b2c3 v2.0.1-rc3 H2O CO2",
        "  12  34  ",
        "½ ¼ ¾ ² ³ ¹ ⁵ ₂",
        "Ⅷ Ⅻ ⅓ ① ② ⑳ ㊿",
        "٠١٢٣٤٥٦٧٨٩ ۱۲۳",
        "०१२३ ১২৩ ๑๒๓",
        "一二三 １２３ 𝟏𝟐𝟑",
        "10² + 10³ = 1100, n₁ ≠ n₂",
    ],
    "code": [
        "def f(x):\n    return x ** 2  # square\n",
        "for (let i = 0; i < n; ++i) { a[i] += b[i] * 0.5; }",
        '#include <stdio.h>\nint main(void) {\n\tprintf("%d\\n", 42);\n\treturn 0;\n}',
        "SELECT * FROM t WHERE a='x''y' AND b IS NOT NULL;",
        '<div class="a b"><!-- c --><br/>&nbsp;</div>',
        '{"k": [1, 2.5, null, true], "s": "\\u00e9\\n"}',
        'fn main() -> Result<(), Box<dyn Error>> { let x: &\'a str = "s"; Ok(()) }',
        "@group(0) @binding(1) var<storage, read_write> y: array<vec4f>;",
        'if [[ -n "$X" ]]; then echo "${X%%/*}" | sed -E \'s/a+/b/g\'; fi',
        "a&&b||!c??d?.e===f!==g>>>h<<=i",
        "```python\nprint('hi')\n```",
        "x = lambda: (yield)\n\n\n\nclass A: ...\n",
        "\\frac{\\partial L}{\\partial w} = \\sum_{i=1}^{n} x_i^2",
        "----------\n==========\n**********\n##########",
        "C:\\Users\\me\\file.txt /usr/local/bin/../lib",
    ],
    "latin and marks": [
        "café naïve façade Zürich Ærøskøbing œuvre straße",
        "cafe\u0301 nai\u0308ve A\u030a n\u0303",
        "e\u0301\u0302\u0303\u0304 stacked marks",
        "Z\u0351\u036b\u0343a\u0321\u034dl\u0321g\u0322o\u0322",
        "Příliš žluťoučký kůň úpěl ďábelské ódy",
        "Zażółć gęślą jaźń",
        "Tiếng Việt có dấu",
        "İstanbul ıI ğüşöç ſ ß ẞ",
        "ﬁ ﬂ ﬀ ligatures",
        "’s ’t 'S 'T 'ſ 'LL",
    ],
    "other scripts": [
        "Привет, мир! Ёжик ЕЩЁ",
        "Γειά σου Κόσμε, ἀρχή",
        "שלום עולם, מה שלומך?",
        "مرحبا بالعالم، كيف حالك؟",
        "السَّلامُ عَلَيْكُم",
        "english עברית mixed العربية text",
        "\u202bright to left\u202c \u200fmark\u200e",
        "नमस्ते दुनिया क्षत्रिय",
        "สวัสดีชาวโลก ภาษาไทย",
        "வணக்கம் உலகம் తెలుగు ಕನ್ನಡ",
        "გამარჯობა Բարեւ ሰላም",
        "བཀྲ་ཤིས་བདེ་ལེགས",
        "ខ្មែរ မြန်မာ ລາວ",
    ],
    "east asian": [
        "你好，世界！",
        "我们在北京吃了三碗面条。",
        "日本語のテキスト、カタカナとひらがな。",
        "ｶﾀｶﾅ 半角 ＡＢＣ",
        "안녕하세요 세계, 한국어",
        "\u1112\u1161\u11ab\u1100\u1173\u11af",
        "中文English混合text123数字",
        "「引用」『二重』【括弧】〈山〉",
        "𠮷野家 𩸽 㐂",
        "か\u3099き\u309a",
    ],
    "symbols": [
        "😀😃😄",
        "👍🏽 👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪🇫🇷",
        "a😀b 😀 c😀",
        "❤️ ☺︎ ✈️ 1️⃣ #️⃣",
        "∀x∈ℝ: ⌈x⌉ = −⌊−x⌋ ∧ ∑ ∫ √2 ≈ 1.41",
        "→ ⇒ ↔ ⟶ ▲ ■ ◆ ★ ☆ ✓ ✗",
        "♠♥♦♣ ♩♪♫ ⚠ ☢",
        "𝓗𝓮𝓵𝓵𝓸 𝔘𝔫𝔦 𝕬",
        "🫠🫡🪿 🧑‍💻",
        "░▒▓█ ┌─┐│└┘",
        "© ® ™ § ¶ † ‡ • … ‰",
        "\U000e0001\U000e0020 tag characters",
        "private \ue000 \U000f0000 use",
        "unassigned \u0378 \U000323b0 \U0010ffff noncharacter \uffff",
    ],
    "controls": [
        "\x00",
        "a\x00b",
        "\x01\x02\x03\x04\x05\x06\x07",
        "bell\x07 escape\x1b[31mred\x1b[0m",
        "".join(map(chr, range(32))),
        "".join(map(chr, range(127, 161))),
        "delete\x7f soft\u00adhyphen",
        "\u0004 \u0006 dropped \u0013\u0014\u0016\u001d",
        "\ufffd replacement",
    ],
    "special tokens": [
        "<|endoftext|>",
        "<|im_start|>user\nHi<|im_end|>\n",
        "<|im_start|>system\nYou are a plume.<|im_end|>\n<|im_start|>user\nWho?<|im_end|>\n"
        "<|im_start|>assistant\n",
        "a<|im_end|>b",
        "a <|im_end|> b",
        "a  <|im_end|>  b",
        "\n<|im_end|>\n",
        "<|im_end|><|im_end|><|im_start|>",
        "<|im_end |> <|im_en <|im_end|",
        "<<|im_end|>>",
        "<|im_start|<|im_start|>",
        "<repo_name>x<file_sep>y<filename>z<gh_stars>1",
        "<reponame><issue_start><issue_comment><issue_closed>",
        "<jupyter_start><jupyter_text>t<jupyter_code>c<jupyter_output>o<jupyter_script>",
        "<empty_output><unk><s></s>[INST]",
        "<|IM_END|> <|im_end|>",
        "Ġhello Ċ Ä ġ raw byte-level letters",
    ],
    "chat": [
        "What is a plume?",
        "Sure! Here's a step-by-step list:\n\n1. First\n2. Second\n   - nested\n3. Third",
        "# Title\n\n**bold** _it_ `code` [link](http://x.y) ![i](j.png)\n\n"
        "> quote\n\n| a | b |\n|---|---|",
        "lol!!! omg??? hmm... :-) ;D <3 xD",
        "YES!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!",
        "ha" * 60,
        "a" * 300,
    ],
}
POOLS = (
    "abcdefghijklmnopqrstuvwxyz",
    "ABCXYZ'’",
    "0123456789²½٣",
    " \n\t\r\u00a0\u3000",
    ".,;:!?()[]{}<>|/\\\"'`~@#$%^&*-_=+",
    "äöüßéñçøåžłőğ",
    "\u0301\u0308\u0323\u20dd\ufe0f\u200d",
    "жщыэюяΩλπאבגמשابتث",
    "中文字日本語かなカナ한글",
    "😀🚀❤🏽🇩🇪👩💻",
    "\u0085\ufeff\u200b\u2028\x1f\x00",
)
WORDS = ("<|im_start|>", "<|im_end|>", " the", "tion", "'ll", "    ", "\n\n", "def ", "你好", "<|")


def at_random(n, seed=2):
    """Runs of one to six characters out of one pool, mixed with words and special tokens."""
    rng = random.Random(seed)
    for _ in range(n):
        parts = []
        for _ in range(rng.randint(2, 14)):
            pool = rng.choice(POOLS)
            run = "".join(rng.choice(pool) for _ in range(rng.randint(1, 6)))
            parts.append(rng.choice(WORDS) if rng.random() < 0.2 else run)
        yield "".join(parts)


def rust_tokenizer(fields):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    words = fields["tokenizer.ggml.tokens"].contents()
    kinds = fields["tokenizer.ggml.token_type"].contents()
    merges = [tuple(m.split(" ")) for m in fields["tokenizer.ggml.merges"].contents()]
    out = Tokenizer(models.BPE({w: i for i, w in enumerate(words)}, merges))
    out.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(False)]
    )
    out.decoder = decoders.ByteLevel()
    out.add_special_tokens([w for w, kind in zip(words, kinds, strict=True) if kind == 3])
    return out


def llama_cpp(texts):
    """llama.cpp's /tokenize, special tokens read as such."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(MODEL)
    params.n_ctx, params.n_parallel = 256, 1
    server = xllamacpp.Server(params)
    out = []
    for text in texts:
        body = {"content": text, "add_special": False, "parse_special": True}
        request = urllib.request.Request(
            server.listening_address + "/tokenize",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as answer:
            out.append(json.load(answer)["tokens"])
    return out


def main():
    from gguf import GGUFReader

    texts = [text for group in BY_HAND.values() for text in group]
    texts += at_random(200 - len(texts))
    rust = rust_tokenizer(GGUFReader(str(MODEL)).fields)
    rows, apart = [], 0
    for text, theirs in zip(texts, llama_cpp(texts), strict=True):
        ids = rust.encode(text).ids
        if ids != theirs:
            apart += 1
            print(f"apart: {text!a}\n  tokenizers {ids}\n  llama.cpp  {theirs}")
        rows.append({"text": text, "ids": ids, "decoded": rust.decode(ids, False)})
    # one row a line, ASCII: the strings hold every kind of invisible character
    OUT.write_text("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n")
    print(f"{len(rows)} strings, {apart} where the two references differ; wrote {OUT}")


if __name__ == "__main__":
    main()
