"""An app whose jobs are programs: some do their work, some do not, one leaves a process behind."""

import os
import sys
from pathlib import Path
from typing import Any

from msgspec import Struct

from tenure import Context, Tenure

HERE = Path(__file__).parent
PYTHON = sys.executable

os.environ["TENURE_DATABASE"] = "postgresql://somebody:secret@nowhere/"
"""As a module might set it: no program is to see it."""

app = Tenure()


class Film(Struct):
    name: str
    frames: int = 24


def shell(key: str, script: str, **more: Any) -> None:
    """A job that is a few lines of shell."""
    app.command(key, ["sh", "-c", script], **more)


def python(key: str, script: str, **more: Any) -> None:
    """A job that is a few lines of Python."""
    app.command(key, [PYTHON, "-c", script], **more)


app.command("cat", ["cat"])
app.command("typed", ["cat"], params=Film)
app.command("missing", ["no-such-program"])
app.command("missing.path", ["/nowhere/program"])
app.command("folder", [HERE])
app.command("plain.text", [Path(__file__)])
app.command("arguments", [PYTHON, "-c", "import json, sys; print(json.dumps(sys.argv[1:]))", "a b", "$HOME"])
python("environment", "import json, os; print(json.dumps(dict(os.environ)))", environment=["TENURE_DATABASE"])
shell("signals", 'set -- $(grep -E \'^Sig(Ign|Blk)\' /proc/self/status); echo "[\\"$2\\", \\"$4\\"]"')
python("uses.tenure", "from tenure import Tenure; print(len(Tenure().specs()))")
shell("speaks", "echo one; echo '{\"n\": 1}'; echo two; echo '{\"n\": 2}'; echo three; echo four >&2")
shell("asks", 'read -r params && echo "$params"')
shell("file", 'echo \'{"by": "stdout"}\'; echo \'{"by": "file"}\' > "$TENURE_RESULT"')
shell("file.fails", 'echo 1 > "$TENURE_RESULT"; exit 1')
shell("file.empty", ': > "$TENURE_RESULT"')
shell("file.folder", 'mkdir "$TENURE_RESULT"')
shell("file.pipe", 'mkfifo "$TENURE_RESULT"')
python("file.large", "import os; open(os.environ['TENURE_RESULT'], 'w').write('[' + ' ' * 300_000 + ']')")
shell("silent", ":")
shell("chatty", "echo no JSON here")
shell("not.a.number", "echo '{\"n\": NaN}'")
shell("code", "echo '{\"code\": 1}'; echo to begin with >&2; echo it is broken >&2; exit 75")
shell("fatal", "exit 3", fatal_codes=[2, 3])
shell("killed", "kill -SEGV $$")
shell("early", "exec <&-; echo 1")
shell("ignores", "echo 2")
python("large.line", "print('x' * 1_000_000); print(1)")
python("large.result", "import json; print(json.dumps(['x' * 300_000]))")
python("endless", "while True: print('y' * 50)")
shell("daemon", 'setsid sleep 1000 & echo "{\\"pid\\": $!}"')
shell("obeys", "trap 'echo stopping; exit 0' TERM; echo ready; while :; do sleep 0.01; done")
shell("stubborn", "trap 'echo asked' TERM; echo ready; while :; do sleep 0.01; done")
shell("waits", 'echo ready; echo is >&2; until test -e "$GATE"; do sleep 0.01; done; echo 1')
shell("spins", "while :; do :; done")
python("works", "import time\nwhile time.process_time() < 0.2: pass\nprint(time.process_time())")
python("greedy", "print(len(bytearray(1 << 30)))")

shell("mute", "echo 1; exec >&- 2>&-; sleep 0.2; exit 5")

held = app.command("held", ["echo", "run"])


@held.on_start
def hold(ctx: Context) -> None:
    """Keep the program from starting until it is not to start any more."""
    print("ready")
    ctx.cancelled.block()
