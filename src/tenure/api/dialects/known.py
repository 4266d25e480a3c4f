"""Every dialect that a caller may ask for, by its name."""

from tenure.api.dialects.orchestrator import ORCHESTRATOR
from tenure.api.dialects.queue import QUEUE
from tenure.api.dialects.server import SERVER
from tenure.api.dialects.tasks import TASKS
from tenure.api.dialects.worker import WORKER

DIALECTS = {dialect.name: dialect for dialect in (ORCHESTRATOR, SERVER, WORKER, QUEUE, TASKS)}
