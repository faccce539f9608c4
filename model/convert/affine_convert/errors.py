"""The one exception of this package."""


class ConvertError(Exception):
    """Something cannot be converted. Its text names the thing, what is allowed and the remedy."""
