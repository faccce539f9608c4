"""What can go wrong, as exceptions: one class for each answer a caller treats differently."""

from __future__ import annotations

import grpc


class AffineError(Exception):
    """A call that did not succeed. `str()` is the server's own message.

    Attributes:
      code: the gRPC status, or None when the mistake was found before anything was sent.
      retry_after: seconds after which the server suggests to try again, or None.
    """

    def __init__(
        self,
        message: str,
        *,
        code: grpc.StatusCode | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.retry_after = retry_after


class InvalidArgument(AffineError):
    """A parameter or the prompt is wrong; the message names field, value and limit."""


class MessageTooLarge(InvalidArgument):
    """The request is larger than any that the server reads."""


class NotFound(AffineError):
    """No model of that name; the message lists the served ones."""


class Busy(AffineError):
    """The server's queue is full; see `retry_after`."""


class Unavailable(AffineError):
    """Nothing answers at the address, or the server is loading or draining."""


class DeadlineExceeded(AffineError):
    """`timeout` or `timeout_ms` passed before the answer was complete."""


class Cancelled(AffineError):
    """The call was cancelled, by this side or by the server."""


class Unauthenticated(AffineError):
    """The server asks for an API key that was not given or is wrong."""


class Unsupported(AffineError):
    """The server does not know the method: it is older than this client, or another service."""


class ServerFault(AffineError):
    """The server failed: non-finite logits of this sequence, or a fault of its own."""


_BY_CODE: dict[grpc.StatusCode, type[AffineError]] = {
    grpc.StatusCode.INVALID_ARGUMENT: InvalidArgument,
    grpc.StatusCode.OUT_OF_RANGE: InvalidArgument,
    grpc.StatusCode.NOT_FOUND: NotFound,
    grpc.StatusCode.RESOURCE_EXHAUSTED: Busy,
    grpc.StatusCode.UNAVAILABLE: Unavailable,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceeded,
    grpc.StatusCode.CANCELLED: Cancelled,
    grpc.StatusCode.UNAUTHENTICATED: Unauthenticated,
    grpc.StatusCode.PERMISSION_DENIED: Unauthenticated,
    grpc.StatusCode.UNIMPLEMENTED: Unsupported,
    grpc.StatusCode.INTERNAL: ServerFault,
    grpc.StatusCode.UNKNOWN: ServerFault,
    grpc.StatusCode.DATA_LOSS: ServerFault,
}


def error_from_rpc(error: grpc.RpcError) -> AffineError:
    """The typed exception for what grpcio raised (sync or asyncio)."""
    code = error.code()
    message = error.details() or code.name
    # gRPC answers an over-large message with the code of a full queue; trying again is no use.
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED and "larger than max" in message:
        return MessageTooLarge(message, code=code)
    kind = _BY_CODE.get(code, AffineError)
    return kind(message, code=code, retry_after=_retry_after(error.trailing_metadata()))


def _retry_after(trailers: object) -> float | None:
    """Seconds in the `retry-after` trailer; None when there is none or it is no number."""
    for key, value in trailers or ():  # type: ignore[attr-defined]
        if key == "retry-after":
            try:
                return max(0.0, float(value))
            except ValueError:
                return None
    return None
