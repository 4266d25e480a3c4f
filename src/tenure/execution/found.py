"""The app in a runner: looked for once, on the main thread, and kept as it was found."""

from collections.abc import Callable

from tenure.execution.handler import App


class Found:
    """Answers with the app, or raises what looking for it has raised: then another runner is needed."""

    def __init__(self, find: Callable[[], App]) -> None:
        self._app: App | None = None
        self._error: Exception | None = None
        try:
            self._app = find()
        except Exception as error:  # whatever the module does at import
            self._error = error

    @property
    def has_failed(self) -> bool:
        """Whether there is no app here."""
        return self._app is None

    def __call__(self) -> App:
        """The app."""
        if self._app is None:
            raise self._error or LookupError("no app was found")
        return self._app
