"""The pages about web frameworks: their programs are written to a folder and run there."""
