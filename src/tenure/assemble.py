"""The composition root: the one module that may know every layer, and puts them together."""

from tenure.storage.address import store_for
from tenure.surfaces.cli.commands import commands
from tenure.surfaces.cli.database import Parts


def main() -> None:
    """Run the command line."""
    commands(prog_name="tenure", obj=Parts(store_for=store_for))
