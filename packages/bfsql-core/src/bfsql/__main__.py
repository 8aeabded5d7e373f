"""`python -m bfsql` is the command `bfsql`."""

import os
import sys

if __name__ == "__main__":
    # With -m, Python puts the working directory first, where anybody's modules and plug-ins may be.
    if not sys.flags.safe_path and sys.path[:1] == [os.getcwd()]:  # noqa: PTH109 - as Python does
        del sys.path[0]
    from bfsql.cli import main

    main()
