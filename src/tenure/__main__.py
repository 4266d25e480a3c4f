"""`tenure` and `python -m tenure`: the command line."""

from tenure.surfaces.cli.process.hidden_secrets import hide


def main() -> None:
    """Run the command line."""
    hide()  # before anything else is loaded: it may restart the process
    from tenure.storage.address import store_for
    from tenure.surfaces.cli.commands import commands
    from tenure.surfaces.cli.database import Parts

    commands(prog_name="tenure", obj=Parts(store_for=store_for))


if __name__ == "__main__":
    main()
