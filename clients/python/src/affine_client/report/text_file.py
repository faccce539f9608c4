"""Reads the text of a report, and cuts it into parts that one Tokenize call takes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from affine_client.errors import AffineError

# Characters of a part; as UTF-8 at most four times as many bytes, far below the limit of a call.
PART_LENGTH = 1 << 18


def read_text(path: Path) -> str:
    """The file's text, line breaks as they are. Raises AffineError, with the remedy, where there is
    no such file, nothing in it, or no UTF-8 text."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise AffineError(f"{path}: no such file; name a text file") from None
    except IsADirectoryError:
        raise AffineError(f"{path} is a folder; name a text file in it") from None
    except OSError as problem:
        raise AffineError(f"{path} cannot be read: {problem.strerror}") from None
    if b"\0" in data:
        raise AffineError(
            f"{path} is no text: byte {data.index(0)} is zero; give a text file in UTF-8"
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise AffineError(
            f"{path} is not UTF-8: {problem.reason} at byte {problem.start}; convert it first, for "
            "example with iconv"
        ) from None
    if not text.strip():
        raise AffineError(f"{path} is empty; give a file with some text")
    return text


def parts(text: str, length: int = PART_LENGTH) -> Iterator[str]:
    """Pieces of at most `length` characters that concatenate to `text`, cut after a line break
    where there is one, else at a space. A part's tokens are those of the whole text but for the few
    that would have reached over a cut."""
    begin = 0
    while len(text) - begin > length:
        end = begin + length
        line, space = text.rfind("\n", begin, end), text.rfind(" ", begin + 1, end)
        if line >= begin:
            end = line + 1
        elif space > begin:
            end = space  # the space belongs to the word that follows, as in most vocabularies
        yield text[begin:end]
        begin = end
    yield text[begin:]
