"""python -m hone: the command, as it is installed beside this package."""

import os
import sys


def main() -> None:
    command = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "hone")
    if not os.access(command, os.X_OK):
        sys.exit(f"hone: {command} is missing: install the package again")
    os.execv(command, ["hone", *sys.argv[1:]])


if __name__ == "__main__":
    main()
