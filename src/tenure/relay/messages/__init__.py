"""Messages that name jobs: sent when a job stands in line, received by workers that claim it by its id."""
