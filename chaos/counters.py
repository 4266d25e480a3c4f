"""What a run must have brought about to be worth anything: the hard spots, counted.

A campaign that never had a stale write refused says nothing of stale writes. Which counters a fault owes
stands with the fault.
"""

import signal
from collections import Counter

from chaos import failpoints
from chaos.casebook import Casebook
from chaos.evidence import Evidence
from chaos.invariants.serving import excused_by_the_machine
from chaos.scene import Scene
from tenure.core.model.job import USUAL_NAMESPACE
from tenure.core.model.outcome import Ending

MEANING = {
    "rescue": "jobs taken back from a worker that was lost",
    "stale": "outcomes refused because their lease was gone",
    "fenced": "attempts that a worker stopped itself because it could not keep their lease",
    "refund": "attempts given back uncharged",
    "grace": "children killed because they had not stopped within their grace",
    "starved": "jobs taken back from a worker that only the machine's own load had kept waiting",
    "unknown": "calls of the clients whose end nobody could know",
    "resolved": "of these, cleared up by their key",
    "unanswered": "servers killed at a failpoint, with a job on record of which nobody had heard",
    "untold": "servers of workers in JavaScript killed at a failpoint, with an answer in their hand",
    "named": "claims to which a message led",
    "reminded": "jobs that were named once more, as their message seemed lost",
    "over_http": "jobs that were asked for over HTTP",
    "heard": "answers of servers, searched for what is not for the caller",
}
"""Every counter by name."""


def counted(evidence: Evidence, scene: Scene) -> Counter[str]:
    """How often each was hit."""
    found = Counter(dict.fromkeys(MEANING, 0))
    for attempt in evidence.attempts:
        match attempt.ending:
            case Ending.LOST:
                found["rescue"] += 1
            case Ending.HANDED_BACK | Ending.KILLED:
                found["refund"] += 1
            case Ending.STOPPED if attempt.usage is not None and attempt.usage.signal == signal.SIGKILL:
                found["grace"] += 1
    for hand in scene.staff.hands:
        for told in hand.told("AttemptLost"):
            found["fenced" if told.told["fenced"] else "stale"] += 1
        found["reminded"] += sum(told.told["count"] for told in hand.told("JobsReminded"))
    found["starved"] = excused_by_the_machine(Casebook(evidence))
    found["unknown"] = sum(client.unknown for client in scene.clients)
    found["resolved"] = sum(client.resolved for client in scene.clients)
    found["unanswered"] = len(failpoints.fired(scene.doors.folder)) if scene.doors else 0
    found["untold"] = len(failpoints.fired(leasing.doors.folder)) if (leasing := scene.staff.foreign) else 0
    found["named"] = sum(one.kind == "led" for one in evidence.passages)
    found["over_http"] = sum(job.namespace != USUAL_NAMESPACE for job in evidence.jobs)
    found["heard"] = len(evidence.replies)
    return found
