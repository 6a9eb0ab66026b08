"""Hashes with a key: a log that only those who know the key can continue or rewrite.

Without one, an event's hash is a SHA-256 that anybody can work out, so whoever can write the database can write another
history (docs/security.md).  With ``WHICHDO_KEY`` in the environment when a campaign begins, its hashes are HMACs under
that key, from event 1 on; event 0 says so, and holds a check by which another key is told from damage.  The hash of
event 0 itself stays plain: programs that do not know of keys can read it, and refuse the campaign by its format.
"""

from __future__ import annotations

import hmac
import os
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from whichdo.errors import DamagedError, StorageError, UsageError
from whichdo.text import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ENVIRONMENT", "digest_of", "new_seal", "secret_for", "secret_of"]

ENVIRONMENT = "WHICHDO_KEY"
HOW = "hmac-sha256"
SHORTEST = 16


def digest_of(data: bytes, secret: bytes | None) -> str:
    """The hash of some bytes, under a key if there is one."""
    return sha256(data).hexdigest() if secret is None else hmac.digest(secret, data, "sha256").hex()


def secret_of() -> bytes | None:
    """The key in the environment, if there is one."""
    text = os.environ.get(ENVIRONMENT, "")
    if not text:
        return None
    if len(text) < SHORTEST:
        raise UsageError(
            f"{ENVIRONMENT} has {len(text)} letters, which can be guessed; give it at least {SHORTEST}, such as from "
            f"`openssl rand -hex 32`."
        )
    return text.encode("utf-8", "surrogateescape")


def new_seal(campaign: str) -> dict[str, Any]:
    """What event 0 says of the hashes of a campaign that begins now; nothing where there is no key."""
    secret = secret_of()
    return {} if secret is None else {"hashes": {"how": HOW, "check": _check(secret, campaign)}}


def secret_for(body: Mapping[str, Any], campaign: str) -> bytes | None:
    """The key of a campaign, by the body of its event 0; an error where it is not the one in the environment."""
    said = body.get("hashes")
    if said is None:
        return None
    if not isinstance(said, dict) or said.get("how") != HOW:
        raise DamagedError(
            f"Event 0 of campaign {quoted(campaign)} does not say how its hashes are made: {quoted(said)}.", 0
        )
    secret = secret_of()
    if secret is None:
        raise StorageError(f"The hashes of campaign {quoted(campaign)} have a key. Set {ENVIRONMENT} to it.")
    if not hmac.compare_digest(str(said.get("check")), _check(secret, campaign)):
        raise StorageError(f"{ENVIRONMENT} is not the key of campaign {quoted(campaign)}. Nothing was changed.")
    return secret


def _check(secret: bytes, campaign: str) -> str:
    return digest_of(f"whichdo key of {campaign}".encode(), secret)[:16]
