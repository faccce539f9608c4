"""Seeded lines of mixed text that provoke tokenizers, and text to train small ones on.

Random code points are those that Unicode 3.2 already assigned (`unicodedata.ucd_3_2_0`), the
explicit lists below go up to Unicode 14 at most: regex engines and normalizers that follow
different versions of Unicode, all at least 14, must agree on everything here.
"""

import inspect
import json
import pydoc_data.topics
import random
import unicodedata

WORDS = {
    "latin": "the of and to in is you that it he was for on are as with his they at be this have from "
    "I'm we're they'll DON'T can't it's he'd I've naïve café Straße ÉCOLE fiancée smörgåsbord".split(),
    "greek": "και το να η του της σε με για που Αθήνα ΕΛΛΑΔΑ ὀξύς ἀρχή".split(),
    "cyrillic": "и в не на я что тот быть с он Москва ёлка Йод щука їжак".split(),
    "arabic": "في من على أن إلى عَرَبِيّ كتاب ١٢٣ لا؟ ـــ".split(),
    "hebrew": "של את על שָׁלוֹם אני ירושלים".split(),
    "devanagari": "है के में की हिन्दी क्षत्रिय १२३ नमस्ते।".split(),
    "thai": "ที่ และ เป็น ภาษาไทย น้ำ ๑๒๓".split(),
    "cjk": "的 一 是 不 了 在 人 有 我 他 中文分词 日本語 ひらがな カタカナ 東京都 。 、 「引用」".split(),
    "korean": "이 그 저 것 한국어 안녕하세요 서울 값 없다".split(),
    "vietnamese": "Tiếng Việt người được không những".split(),
    "georgian": "და არის ქართული საქართველო".split(),
    "tamil": "தமிழ் மொழி வணக்கம்".split(),
}
CODE = [
    "def f(x):\n    return x ** 2\n",
    "for (int i = 0; i < n; ++i) {\n\tsum += a[i];\n}",
    '<div class="a">',
    "SELECT * FROM t WHERE id = 42;",
    "if err != nil { return err }",
    "a->b::c<T>(x, y...);",
    "#!/bin/sh\r\n",
    '{"key": [1, 2.5e-3, null]}',
    "lambda _: ...",
    "x = 0xDEADBEEF",
    "https://example.org/a?b=c&d=%20e#f",
    "\\frac{1}{2}",
    "__init__",
    "camelCaseIdentifier",
    "SCREAMING_SNAKE",
    "/* ''' */",
    "!==",
    "!!!???...",
    "$100,000.00",
]
EMOJI = [
    "😀",
    "👍🏽",
    "👨‍👩‍👧‍👦",
    "🏳️‍🌈",
    "🇩🇪🇫🇷",
    "❤️",
    "☕",
    "👩🏿‍🚀",
    "🧑‍🤝‍🧑",
    "1️⃣",
    "🫠",
    "🫱🏻‍🫲🏿",
    "🥹",
    "‍",
    "️",
]
SPACES = [
    " ",
    "  ",
    "   ",
    "\t",
    "\n",
    "\r\n",
    "\r",
    "\n\n\n",
    " \n ",
    "\x0b",
    "\x0c",
    "\x1c",
    "\x1f",
    "\x85",
    "\u00a0",
    "\u1680",
    "\u180e",
    "\u2000",
    "\u2003",
    "\u2009",
    "\u200a",
    "\u200b",
    "\u200d",
    "\u2028",
    "\u2029",
    "\u202f",
    "\u205f",
    "\u2060",
    "\u3000",
    "\ufeff",
    " " * 17,
    "\t\t  \t",
    "\n \t\n",
    "\u3000\u3000",
    "\x00",
    "\x7f",
]
MARKS = [
    "e\u0301",
    "\u0301",
    "a\u0323\u0302",
    "a\u0302\u0323",
    "\u1100\u1161\u11a8",
    "\uac00\u11a8",
    "\u212b",
    "\u2126",
    "q\u0307\u0323",
    "\u0344",
    "\u0958",
    "\u09c7\u09be",
    "\u0b47\u0b56",
    "\u1e9b\u0323",
    "\ufb1d",
    "\u2adc",
    "x\u0338",
    "=\u0338",
    "\u0f71\u0f72",
    "\u0f73",
    "\u3099",
    "か\u3099",
    "は\u309a",
    "\uf900",
    "\U0002f800",
    "\U0001d15e",
    "n\u0303o",
    "A\u030a",
    "o\u0328\u0304",
    "\u0e33",
    "\u1026",
    "\u0308\u0301" * 3,
    "u\u0308\u0304",
    "\u01d6\u0323",
    "\u0f00",
    "\U000110ab",
    "\U00011131\U00011127",
]
ODD = [
    "ſ",
    "K",
    "'ſ",
    "'S",
    "'T",
    "'LL",
    "’s",
    "ß",
    "ﬁ",
    "ŉ",
    "İ",
    "ı",
    "ǅ",
    "Ⅷ",
    "²",
    "½",
    "①",
    "٣",
    "𝟘",
    "〇",
    "㊿",
    "Ⓐ",
    "ª",
    "ʰ",
    "_",
    "‿",
    "Ġ",
    "Ċ",
    "Ā",
    "ÿ",
    "\u00ad",
    "\u0100",
    "\u0143",
    "\ufffd",
    "\U0001f1e6",
    "\U000e0067",
    "\U000f0000",
    "\ue000",
]
BROKEN = [
    b"\x80",
    b"\xff",
    b"\xc3",
    b"\xe2\x82",
    b"\xf0\x9f\x98",
    b"\xed\xa0\x80",
    b"\xc0\xaf",
    b"\xf4\x90\x80\x80",
    b"\xf8\x88",
    b"\xe2(\xa1",
    b"\xf0\x9f",
    b"\xbf\xbf",
]


class MixedText:
    """Makes records of bytes; the same seed and added tokens make the same records."""

    def __init__(self, seed, added_tokens):
        self._random = random.Random(seed)
        self._words = list(WORDS.values())
        self._added = added_tokens
        self._old = [
            chr(c)
            for c in range(0x20, 0x30000)
            if not 0xD800 <= c < 0xE000 and unicodedata.ucd_3_2_0.category(chr(c)) != "Cn"
        ]

    def record(self):
        r = self._random
        kind = r.random()
        if kind < 0.3:  # plain prose in one script
            text = " ".join(r.choices(r.choice(self._words), k=r.randint(1, 20)))
        else:
            text = "".join(self._piece() for _ in range(r.randint(1, 24)))
        record = text.encode()
        if kind > 0.9:  # invalid UTF-8, sometimes in the middle of a character
            for _ in range(r.randint(1, 3)):
                at = r.randint(0, len(record))
                record = record[:at] + r.choice(BROKEN) + record[at:]
        return record

    def _piece(self):
        r = self._random
        kind = r.randrange(22)
        if kind < 6:
            return r.choice(("", " ")) + r.choice(r.choice(self._words))
        if kind < 9:
            return r.choice(SPACES)
        if kind == 9:
            return r.choice(CODE)
        if kind == 10:
            return r.choice(EMOJI)
        if kind < 13:
            return r.choice(MARKS)
        if kind == 13:
            return "".join(r.choices("0123456789", k=r.choice((1, 2, 3, 4, 7, 13))))
        if kind < 16:
            return r.choice(ODD)
        if kind < 18:
            return r.choice(self._added)
        if kind == 18:
            return r.choice(self._added)[: r.randint(1, 6)] + r.choice(SPACES)
        if kind == 19:
            return r.choice(self._old)
        if kind == 20:
            return r.choice("ab =-#*.\n\u4e2d") * r.choice((2, 3, 8, 65, 200))
        return "".join(r.choices("etaoinshrdlu ,.'", k=r.randint(1, 30)))


def training_lines(seed, count=20000):
    """Python's own documentation and sources, and words of every script."""
    lines = "\n".join(pydoc_data.topics.topics.values()).splitlines(keepends=True)
    for module in (inspect, json, random, unicodedata.__loader__.__class__):
        lines += inspect.getsource(inspect.getmodule(module)).splitlines(keepends=True)
    text = MixedText(seed, ["?"])
    return lines + [text.record().decode(errors="replace") for _ in range(count)]
