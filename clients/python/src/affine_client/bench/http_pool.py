"""Connections to an HTTP server, kept for the next request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from affine_client.bench.http_answer import HttpAnswer

Heard = Callable[[bytes], bool]  # a line of the body; False: hang up


class HttpPool:
    """For one event loop. A connection is used again once its answer has been read to the end."""

    def __init__(self, address: str) -> None:
        self.address = address
        host, _, port = address.rpartition(":")
        self._host, self._port = host.strip("[]"), int(port)
        self._idle: list[_Connection] = []

    async def ask(self, request: bytes, heard: Heard) -> int:
        """Sends `request` and calls `heard` for each line of the body; returns the status.

        Raises OSError when the connection breaks, ValueError for what is no HTTP. If it is
        cancelled it hangs up.
        """
        while self._idle:
            connection = self._idle.pop()
            if connection.open:
                try:
                    return await self._ask(connection, request, heard)
                except ConnectionError:
                    if connection.heard_something:
                        raise
                    # The server had closed it meanwhile and has not seen the request.
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(_Connection, self._host, self._port)
        return await self._ask(connection, request, heard)

    async def _ask(self, connection: _Connection, request: bytes, heard: Heard) -> int:
        try:
            status = await connection.exchange(request, heard)
        except BaseException:
            connection.close()
            raise
        if connection.reusable:
            self._idle.append(connection)
        else:
            connection.close()
        return status

    def close(self) -> None:
        for connection in self._idle:
            connection.close()
        self._idle.clear()


class _Connection(asyncio.Protocol):
    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._answer = HttpAnswer()
        self._heard: Heard | None = None
        self._done: asyncio.Future[int] | None = None
        self.heard_something = False
        self.open = True
        self.reusable = False

    async def exchange(self, request: bytes, heard: Heard) -> int:
        assert self._transport is not None
        self._answer, self._heard = HttpAnswer(), heard
        self.heard_something, self.reusable = False, False
        self._done = self._loop.create_future()
        self._transport.write(request)
        return await self._done

    def close(self) -> None:
        self.open = False
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self.heard_something = True
        if self._done is None or self._done.done():
            self.close()  # nobody asked
            return
        try:
            for line in self._answer.feed(data):
                if self._heard is not None and not self._heard(line):
                    self._finish()
                    return
        except Exception as problem:
            self._done.set_exception(problem)
            return
        if self._answer.whole:
            self.reusable = self._answer.reusable
            self._finish()

    def connection_lost(self, problem: Exception | None) -> None:
        self.open = False
        if self._done is None or self._done.done():
            return
        for line in self._answer.end():
            if self._heard is not None:
                self._heard(line)
        if self._answer.whole:
            self._finish()
        else:
            self._done.set_exception(
                ConnectionResetError(f"the connection ended within an answer ({problem or 'EOF'})")
            )

    def _finish(self) -> None:
        assert self._done is not None
        self._done.set_result(self._answer.status)
