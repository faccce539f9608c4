"""Client of Affine Serve.

from affine_client import Client

with Client("127.0.0.1:8000") as client:
    for chunk in client.stream("The capital of France is", max_tokens=16, temperature=0):
        print(chunk.text, end="", flush=True)
"""

from affine_client.aio import AsyncClient
from affine_client.answers import (
    Alternative,
    Answer,
    Attention,
    Chunk,
    Completion,
    Model,
    TokenLogProb,
    Tokens,
    Usage,
)
from affine_client.client import Client
from affine_client.errors import (
    AffineError,
    Busy,
    Cancelled,
    DeadlineExceeded,
    InvalidArgument,
    MessageTooLarge,
    NotFound,
    ServerFault,
    Unauthenticated,
    Unavailable,
    Unsupported,
)
from affine_client.joining import join
from affine_client.parameters import CompletionParams, Prompt
from affine_client.retry import NO_RETRIES, RetryPolicy
from affine_client.stability import (
    AttentionHeads,
    AttentionWindow,
    StabilitySummary,
    WorstHead,
)

__version__ = "0.1.0"

__all__ = [
    "NO_RETRIES",
    "AffineError",
    "Alternative",
    "Answer",
    "AsyncClient",
    "Attention",
    "AttentionHeads",
    "AttentionWindow",
    "Busy",
    "Cancelled",
    "Chunk",
    "Client",
    "Completion",
    "CompletionParams",
    "DeadlineExceeded",
    "InvalidArgument",
    "MessageTooLarge",
    "Model",
    "NotFound",
    "Prompt",
    "RetryPolicy",
    "ServerFault",
    "StabilitySummary",
    "TokenLogProb",
    "Tokens",
    "Unauthenticated",
    "Unavailable",
    "Unsupported",
    "Usage",
    "WorstHead",
    "join",
]
