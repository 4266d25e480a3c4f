"""`python -m tenure`: the command line."""

from tenure.assemble import main

if __name__ == "__main__":
    main()
