"""The hash of cache keys."""

from __future__ import annotations

try:  # hashlib loads OpenSSL first, which takes longer than the rest of a cached load
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

__all__ = ["blake2b"]
