"""Workers in JavaScript, beside those in Python and for the same lines: what each of them is started with.

They reach the database by a server of their own, which is found at the same place whenever it was killed.
"""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from chaos.api import Doors
from tenure.core.reports.access import AuditEntry, NewKey
from tenure.core.values import key_text
from tenure.storage.contract.store import Store
from tests import node
from tests.ports import free_port

PROGRAM = Path(__file__).with_name("foreign.js")
WAIT_SECONDS = 0.5
"""How long one waits for jobs: who was told to stop ends when its last wait is over."""


class Foreign(NamedTuple):
    """Their server, and by which key they use it."""

    doors: Doors
    key: str

    def command(self, signals: Path) -> list[str]:
        """What to start; in the file it says its name."""
        return [node.program(), str(PROGRAM), str(signals)]

    def environment(self, slots: int, lease: float) -> dict[str, str]:
        """The variables that it reads."""
        return {
            "TENURE_URL": self.doors.any(),
            "TENURE_KEY": self.key,
            "TENURE_SLOTS": str(slots),
            "TENURE_LEASE_SECONDS": f"{lease:g}",
            "TENURE_WAIT_SECONDS": f"{WAIT_SECONDS:g}",
        }


async def opened(store: Store, address: str, folder: Path, armed: str, ends: AsyncExitStack) -> Foreign:
    """A server, with failpoints, and a key for them, until the end."""
    minted = key_text.mint()
    key = NewKey(id=minted.id, digest=minted.digest, name="foreign workers", scopes=("work",))
    await store.add_key(
        key, AuditEntry(who="the run", action="keys create", target=minted.id, request=uuid4())
    )
    doors = Doors(address, folder, armed, port=free_port())
    ends.push_async_callback(doors.close)
    await doors.open(1)
    return Foreign(doors, minted.text)
