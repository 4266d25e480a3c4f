"""Loads the app once per runner, on its main thread, and keeps the app or its error."""

from collections.abc import Callable

from tenure.execution.handler.handler import App


class LoadedApp:
    """Returns the app, or raises what its import raised: then another runner is needed."""

    def __init__(self, find_app: Callable[[], App]) -> None:
        self._app: App | None = None
        self._error: Exception | None = None
        try:
            self._app = find_app()
        except Exception as error:  # whatever the module does at import
            self._error = error

    @property
    def has_failed(self) -> bool:
        """Whether there is no app here."""
        return self._app is None

    @property
    def has_hooks(self) -> bool:
        """Whether there is something to do at the start or the end of this process."""
        return bool(getattr(self._app, "process_hooks", None))

    def __call__(self) -> App:
        """The app."""
        if self._app is None:
            raise self._error or LookupError("no app was found")
        return self._app
