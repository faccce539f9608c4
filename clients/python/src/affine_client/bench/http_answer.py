"""Reads one HTTP/1.1 answer from the bytes of its connection, line by line of its body."""

from __future__ import annotations


class HttpAnswer:
    """Fed with bytes as they come; does no input or output of its own.

    After the head, `status` is set; `whole` says that the body has ended, and `reusable` that the
    connection takes another request then. Raises ValueError for what is no HTTP/1.1.
    """

    def __init__(self) -> None:
        self.status = 0
        self.whole = False
        self.reusable = False
        self._buffer = b""
        self._rest = b""  # of the body: a line that has not ended
        self._in_body = False
        self._chunked = False
        self._left: int | None = None  # bytes of the body or chunk; None: until the end
        self._last_chunk = False

    def feed(self, data: bytes) -> list[bytes]:
        """The lines of the body that `data` ends, without their line breaks."""
        self._buffer += data
        if not self._in_body and not self._read_head():
            return []
        lines: list[bytes] = []
        if self._chunked:
            self._read_chunks(lines)
        else:
            self._read_plain(lines)
        return lines

    def end(self) -> list[bytes]:
        """The connection was closed; a body without a length ends so."""
        if self._in_body and not self._chunked and self._left is None:
            self.whole = True
        return self._last_line() if self.whole else []

    def _read_head(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > 1 << 16:
                raise ValueError("the answer's head is longer than 64 KiB")
            return False
        first, *fields = self._buffer[:end].split(b"\r\n")
        self._buffer = self._buffer[end + 4 :]
        words = first.split(b" ", 2)
        if not first.startswith(b"HTTP/1.") or len(words) < 2:
            raise ValueError(f"the answer is no HTTP/1.1: {first[:80]!r}")
        self.status = int(words[1])
        head = {}
        for field in fields:
            name, _, value = field.partition(b":")
            head[name.strip().lower()] = value.strip()
        self._chunked = head.get(b"transfer-encoding", b"").lower() == b"chunked"
        if not self._chunked and b"content-length" in head:
            self._left = int(head[b"content-length"])
        kept = first.startswith(b"HTTP/1.1") and head.get(b"connection", b"").lower() != b"close"
        self.reusable = kept and (self._chunked or self._left is not None)
        self._in_body = True
        if self._chunked:
            self._left = 0
        return True

    def _read_plain(self, lines: list[bytes]) -> None:
        piece, self._buffer = self._buffer, b""
        self._split(piece, lines)
        if self._left is not None:
            self._left -= len(piece)
            if self._left <= 0:
                self._end_body(lines)

    def _read_chunks(self, lines: list[bytes]) -> None:
        while not self.whole:
            if self._left:
                piece = self._buffer[: self._left]
                self._buffer = self._buffer[self._left :]
                self._left -= len(piece)
                self._split(piece, lines)
                if self._left:
                    return
            # A line: the break after a chunk, the next one's size, or one after the last chunk.
            line, found, rest = self._buffer.partition(b"\r\n")
            if not found:
                return
            self._buffer = rest
            if self._last_chunk:
                if not line:
                    self._end_body(lines)
            elif line:
                self._left = int(line.split(b";")[0], 16)
                self._last_chunk = self._left == 0

    def _split(self, piece: bytes, lines: list[bytes]) -> None:
        *whole, self._rest = (self._rest + piece).split(b"\n")
        lines.extend(line.rstrip(b"\r") for line in whole)

    def _end_body(self, lines: list[bytes]) -> None:
        self.whole = True
        lines.extend(self._last_line())

    def _last_line(self) -> list[bytes]:
        rest, self._rest = self._rest, b""
        return [rest] if rest else []
