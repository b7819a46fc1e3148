"""`python -m karpenter` is the `karpenter` command."""

from karpenter.app.cli import app

if __name__ == "__main__":
    app()
