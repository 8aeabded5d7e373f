"""`python -m bfsql` is the command `bfsql`."""

from bfsql.cli import main

if __name__ == "__main__":
    main()
