"""A command of Tenure's as a run starts it: with failpoints armed.

python -m chaos.process SIDE (scheduler | worker | serve) [arguments of that command]
"""

import sys

from chaos import failpoints
from tenure.__main__ import main as main_of_tenure

if __name__ == "__main__":
    _, side, *arguments = sys.argv
    failpoints.arm(side)  # type: ignore[arg-type]
    sys.argv = ["tenure", *arguments]
    main_of_tenure()
