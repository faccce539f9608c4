"""Collects the texts of the fine-tuning from Debian packages, and splits them.

usage: collect_texts.py OUT_FOLDER [--samples FILE]

Makes OUT_FOLDER/train/KIND.txt, OUT_FOLDER/held-out/KIND.txt and OUT_FOLDER/sources.json, which
names each package's version, licence and the texts' SHA-256. Packages are downloaded and unpacked,
not installed; nothing in them is run. --samples adds what sample_texts.py wrote, as kind `samples`.
The split goes by blocks of text, by a hash of their place: the same files give the same split.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

#: Characters of one block: each is wholly for training or wholly held out.
_BLOCK = 6000
#: Most characters of a kind, so that no kind outweighs the others.
_MOST_TRAINING, _MOST_HELD_OUT = 800_000, 24_000
#: One block in so many is held out.
_HELD_OUT_EVERY = 8
_END_OF_TEXT = "<|endoftext|>"


@dataclass(frozen=True)
class Source:
    """Where a kind of text comes from; `patterns` are globs in the unpacked package."""

    kind: str
    package: str
    patterns: tuple[str, ...]
    licence: str


_PYTHON = "usr/share/doc/python3.11/html/_sources"
_LIBRARY = "usr/lib/python3.11"
SOURCES = (
    Source(
        "novel",
        "golang-github-klauspost-compress-dev",
        ("usr/share/gocode/src/github.com/klauspost/compress/testdata/Mark.Twain-Tom.Sawyer.txt",),
        "public domain (The Adventures of Tom Sawyer, 1876)",
    ),
    Source(
        "science",
        "golang-1.19-src",
        ("usr/share/go-1.19/src/testdata/Isaac.Newton-Opticks.txt",),
        "public domain (Opticks, 4th edition, 1730)",
    ),
    Source(
        "handbook",
        "debian-handbook",
        ("usr/share/doc/debian-handbook/html/en-US/sect.*.html",),
        "GPL-2.0+ or CC-BY-SA-3.0 (The Debian Administrator's Handbook)",
    ),
    Source(
        "documentation",
        "python3.11-doc",
        (f"{_PYTHON}/tutorial/*.txt", f"{_PYTHON}/howto/*.txt", f"{_PYTHON}/library/*.txt"),
        "PSF-2.0 (documentation of Python 3.11)",
    ),
    Source(
        "code",
        "libpython3.11-stdlib",
        (f"{_LIBRARY}/*.py", f"{_LIBRARY}/asyncio/*.py", f"{_LIBRARY}/email/*.py"),
        "PSF-2.0 (standard library of Python 3.11)",
    ),
)


class HtmlText(HTMLParser):
    """The readable text of a page: headings, paragraphs, lists and listings."""

    _BREAKS = {"p", "div", "h1", "h2", "h3", "h4", "li", "pre", "dt", "dd", "tr"}
    _UNREAD = {"script", "style", "head"}

    def __init__(self):
        super().__init__()
        self._parts: list[str] = []
        self._unread = 0  # depth inside elements that are not shown

    def handle_starttag(self, tag, attrs):
        self._unread += tag in self._UNREAD
        if tag in self._BREAKS:
            self._parts.append("\n")

    def handle_endtag(self, tag):
        self._unread -= tag in self._UNREAD
        if tag in self._BREAKS:
            self._parts.append("\n")

    def handle_data(self, data):
        if not self._unread:
            self._parts.append(data)

    def text(self) -> str:
        """Lines without space around them, at most one empty line between two."""
        kept: list[str] = []
        for line in (line.strip() for line in "".join(self._parts).splitlines()):
            if line or (kept and kept[-1]):
                kept.append(line)
        return "\n".join(kept).strip() + "\n"


def readable(path: Path) -> str:
    """The text of one file; pages without their markup."""
    text = path.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n")
    if path.suffix != ".html":
        return text
    page = HtmlText()
    page.feed(text)
    return page.text()


def blocks(text: str) -> Iterator[str]:
    """Cuts at ends of paragraphs, into at least _BLOCK characters each but the last."""
    start = 0
    while start < len(text):
        end = text.find("\n\n", start + _BLOCK)
        end = len(text) if end < 0 else end + 2
        yield text[start:end]
        start = end


def is_held_out(kind: str, document: int, block: int) -> bool:
    """By a hash of the place, the same on every machine."""
    digest = hashlib.sha256(f"{kind}/{document}/{block}".encode()).digest()
    return int.from_bytes(digest[:4], "little") % _HELD_OUT_EVERY == 0


def split(kind: str, documents: list[str]) -> dict[str, str]:
    """Text for `train` and `held-out`; documents end with the model's end-of-text token.

    Where a kind has more than is taken, documents are taken evenly spread over it.
    """
    total = sum(map(len, documents))
    step = max(1.0, total / (_MOST_TRAINING * _HELD_OUT_EVERY / (_HELD_OUT_EVERY - 1)))
    chosen = sorted({int(index * step) for index in range(int(len(documents) / step) + 1)})
    parts: dict[str, list[str]] = {"train": [], "held-out": []}
    for document in (index for index in chosen if index < len(documents)):
        last = None
        for number, block in enumerate(blocks(documents[document])):
            part = "held-out" if is_held_out(kind, document, number) else "train"
            if last not in (None, part) and parts[last]:
                parts[last].append(_END_OF_TEXT)  # what follows it lies in the other part
            parts[part].append(block)
            last = part
        if last:
            parts[last].append(_END_OF_TEXT)
    limits = {"train": _MOST_TRAINING, "held-out": _MOST_HELD_OUT}
    return {part: "".join(texts)[: limits[part]] for part, texts in parts.items()}


def unpack(package: str, folder: Path) -> str:
    """Downloads a package of the machine's Debian into `folder` and unpacks it; its version."""
    subprocess.run(
        ["apt-get", "download", "-q", package], cwd=folder, check=True, stdout=sys.stderr
    )
    (file,) = folder.glob(f"{package}_*.deb")
    subprocess.run(["dpkg-deb", "-x", file.name, "."], cwd=folder, check=True)
    fields = ["dpkg-deb", "-f", file.name, "Version"]
    return subprocess.run(
        fields, cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def collect(source: Source) -> tuple[list[str], str]:
    """The documents of one kind, and the package's version."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # apt reads and writes there under a user of its own
        version = unpack(source.package, folder)
        files = [path for pattern in source.patterns for path in sorted(folder.glob(pattern))]
        if not files:
            raise SystemExit(
                f"{source.package} {version} has no {', '.join(source.patterns)}; correct SOURCES"
            )
        return [readable(path) for path in files if path.is_file()], version


def write_kind(out: Path, kind: str, documents: list[str]) -> dict:
    """Writes both parts of a kind; characters and SHA-256 of each."""
    record = {}
    for part, text in split(kind, documents).items():
        path = out / part / f"{kind}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        record[part] = {
            "characters": len(text),
            "sha256": hashlib.sha256(text.encode()).hexdigest(),
        }
    return record


def main(arguments: list[str] | None = None) -> int:
    """Runs the collection."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, metavar="OUT_FOLDER", help="folder to write into")
    parser.add_argument("--samples", type=Path, help="file of sample_texts.py")
    parsed = parser.parse_args(arguments)
    record = {}
    for source in SOURCES:
        documents, version = collect(source)
        made = {"package": source.package, "version": version, "licence": source.licence}
        record[source.kind] = made | write_kind(parsed.out, source.kind, documents)
    if parsed.samples:
        documents = parsed.samples.read_text(encoding="utf-8").split(_END_OF_TEXT)
        made = {"licence": "Apache-2.0 (drawn from SmolLM2-135M-Instruct)"}
        record["samples"] = made | write_kind(parsed.out, "samples", documents)
    (parsed.out / "sources.json").write_text(json.dumps(record, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
