"""Every dialect that can be asked for, by its name."""

from tenure.surfaces.dialects.orchestrator import ORCHESTRATOR
from tenure.surfaces.dialects.queue import QUEUE
from tenure.surfaces.dialects.server import SERVER
from tenure.surfaces.dialects.tasks import TASKS
from tenure.surfaces.dialects.worker import WORKER

DIALECTS = {dialect.name: dialect for dialect in (ORCHESTRATOR, SERVER, WORKER, QUEUE, TASKS)}
