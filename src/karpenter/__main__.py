"""`python -m karpenter` is the `karpenter` command."""

import sys

from karpenter.app.cli import main

if __name__ == "__main__":
    sys.exit(main())
