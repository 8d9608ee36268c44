"""`python -m btr.cli`, which launchers of several processes need."""

from btr.cli import main

if __name__ == "__main__":
    main()
