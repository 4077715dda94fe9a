"""The host side of build.py: prepares, serves, drives a browser. Never in the wheel; no maths."""
