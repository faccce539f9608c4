"""Subcommands that compute with a model need torch; the others go on without it."""

import importlib

from affine_convert.errors import ConvertError


def require_torch() -> None:
    """Raises ConvertError unless torch and tokenizers can be imported."""
    for name in ("torch", "tokenizers"):
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise ConvertError(
                f"{name} cannot be imported: {error}. Training and comparing need a whole torch "
                "with all its libraries: pip install -e 'model/convert[training]'."
            ) from error
