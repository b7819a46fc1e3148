"""The `karpenter` command: one table of subcommands, each imported only when it is called.

A command is a function in a module of its own. Its line in the table names it as text, with its help, so that neither
`karpenter version` nor `karpenter --help` pays for the imports of the others.
"""

from cyclopts import App

from karpenter import __version__

app = App(
    name="karpenter",
    help="Karpenter in Python: the right nodes for your pods, at the right time, and no others.",
    version=__version__,
    result_action="return_int_as_exit_code_else_zero",
)


@app.command
def version() -> None:
    """Print the version."""
    print(__version__)
