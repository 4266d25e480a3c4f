"""`python -m tenure.execution.zygote`: how a worker starts its zygote."""

from tenure.execution.zygote.fork_server import main

if __name__ == "__main__":
    main()
