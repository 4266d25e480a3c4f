"""A command of Tenure's that fires schedules, as a run starts it: with failpoints armed.

python -m chaos.schedules.process (scheduler | worker | serve) [arguments of that command]
"""

import sys

from chaos import failpoints
from tenure.__main__ import main as main_of_tenure

if __name__ == "__main__":
    failpoints.arm("clock")
    sys.argv[0] = "tenure"
    main_of_tenure()
