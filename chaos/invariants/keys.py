"""What a key stands for: the job that was first sent with it, and nothing else."""

from collections.abc import Iterator

from chaos.casebook import Casebook, Finding
from tenure.core.values.documents import canonical_hash

REUSED = "idempotency-key-reused"
"""How an error begins that says that a key was used for something else."""


def i4_key_binds_body(book: Casebook) -> Iterator[Finding]:
    """I4: who is answered with a job sent what is in it; who is refused for its key sent something else."""
    stored = {job.key: canonical_hash(job.params).hex() for job, _ in book.known() if job.key is not None}
    for call in book.evidence.history:
        for key, body in zip(call.keys, call.bodies, strict=False):
            if call.outcome == "acknowledged" and stored.get(key, body) != body:
                yield None, f"call {call.number} was answered for key {key!r}, and sent something else"
            if call.outcome == "refused" and call.error.startswith(REUSED) and stored.get(key) == body:
                yield None, f"call {call.number} was refused for key {key!r}, which stands for what it sent"


INVARIANTS = (i4_key_binds_body,)
