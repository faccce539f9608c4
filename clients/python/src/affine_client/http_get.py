"""Pages that the server answers over plain HTTP, such as /metrics."""

from __future__ import annotations

from http.client import HTTPConnection, HTTPException

from affine_client.errors import AffineError, Unavailable

_TIMEOUT_S = 10.0


def fetch_page(address: str, path: str, api_key: str | None) -> str:
    """The body of GET; Unavailable where nothing answers, AffineError for another status."""
    connection = HTTPConnection(address, timeout=_TIMEOUT_S)
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        body = answer.read().decode("utf-8", "replace")
    except (OSError, HTTPException) as problem:
        raise Unavailable(f"no answer to GET {path} ({problem})") from None
    finally:
        connection.close()
    if answer.status != 200:
        raise AffineError(f"GET http://{address}{path}: {answer.status} {answer.reason}")
    return body
