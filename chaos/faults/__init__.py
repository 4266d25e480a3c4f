"""What can be done to a run, by name."""

from chaos.faults import broker, clocks, network, postgres, servers, sqlite, steps, workers
from chaos.faults.fault import Fault

FAULTS: dict[str, Fault] = {
    fault.name: fault
    for module in (workers, steps, servers, postgres, network, sqlite, clocks, broker)
    for fault in module.FAULTS
}
"""Every fault, in the order of the table in the documentation."""
