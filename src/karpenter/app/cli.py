"""The `karpenter` command: one table of subcommands, each imported only when it is called.

A command is a function in a module of its own. Its line in the table names it as text, with its help, so that neither
`karpenter version` nor `karpenter --help` pays for the imports of the others.

Exit status: 0 for success, 1 for a failure on the way, 2 for bad input (a flag, a setting, a manifest: one line an
error on standard error), 130 when interrupted; what else a command returns is in its own help.
"""

import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError

from karpenter import __version__
from karpenter.app.errors import BadInputError
from karpenter.model.errors import KarpenterError, ManifestError

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130

app = App(
    name="karpenter",
    help="Karpenter in Python: the right nodes for your pods, at the right time, and no others.",
    version=__version__,
    help_format="plaintext",  # as written; a Markdown parser would take as long to load as all the rest
    result_action="return_int_as_exit_code_else_zero",
    exit_on_error=False,
    print_error=False,
    suppress_keyboard_interrupt=False,
)

app.command(
    "karpenter.app.demo:demo",
    name="demo",
    help="Run a cluster with Karpenter in this process: API server, scheduler, kubelets and cloud, all simulated.",
)
app.command(
    "karpenter.app.simulate:simulate",
    name="simulate",
    help="Say where pending pods would go and which nodes would be launched for them, offline.",
)
app.command(
    "karpenter.app.scenario:scenario",
    name="scenario",
    help="Play days of a cluster's life in virtual time, and say what they cost.",
)
app.command(
    "karpenter.app.run:run",
    name="run",
    help="Run the controllers against an API server; with the simulated cloud, its nodes join that cluster.",
)
app.command(
    "karpenter.app.crds:crds",
    name="crds",
    help="Print the CustomResourceDefinitions as YAML, for kubectl apply.",
)
app.command(
    "karpenter.app.convert:convert",
    name="convert",
    help="Print Provisioners and AWSNodeTemplates as NodePools and EC2NodeClasses of today's API.",
)
app.command(
    "karpenter.app.pause:pause",
    name="pause",
    help="Stop the controllers of a cluster, within seconds, until karpenter resume.",
)
app.command(
    "karpenter.app.pause:resume",
    name="resume",
    help="End a pause.",
)

explain = App(name="explain", help="Say why things are as they are, in a cluster or a dump of one.")
explain.command(
    "karpenter.app.explain:explain_node",
    name="node",
    help="Say why a node stays, since when, and what that costs per hour.",
)
app.command(explain)


@app.command
def version() -> None:
    """Print the version."""
    print(__version__)


def main(tokens: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status; mistakes are told in a line each, never in a traceback."""
    try:
        status = app(tokens)
    except CycloptsError as error:
        print(f"karpenter: {' '.join(str(error).split())}", file=sys.stderr)
        return BAD_INPUT
    except KarpenterError as error:
        print(*_lines(error), sep="\n", file=sys.stderr)
        return BAD_INPUT if isinstance(error, BadInputError | ManifestError) else FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # `karpenter simulate … | head`
        sys.stderr.close()
        return FAILED
    return int(status)


def _lines(error: KarpenterError) -> list[str]:
    if isinstance(error, ManifestError):
        return [f"karpenter: {error.subject}: {each}" for each in error.errors]
    return [f"karpenter: {line}" for line in str(error).splitlines()]
