"""The composition root: the one module that may know every layer, and puts them together."""

from tenure.surfaces.cli.hiding import hide


def main() -> None:
    """Run the command line."""
    hide()  # before anything else is loaded: it may begin anew
    from tenure.storage.address import store_for
    from tenure.surfaces.cli.commands import commands
    from tenure.surfaces.cli.database import Parts

    commands(prog_name="tenure", obj=Parts(store_for=store_for))
