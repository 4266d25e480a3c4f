"""Processes of their own for the storage tests, quick to start: a fork server has their imports already."""

import multiprocessing

PROCESSES = multiprocessing.get_context("forkserver")
# There is one server for a whole run, and its imports must be known before it starts.
PROCESSES.set_forkserver_preload(["tests.storage.killed_migration", "tests.storage.races.actor"])
