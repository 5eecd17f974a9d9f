"""moot: debates between language models, carried to their end."""

__version__ = "0.1.0"
