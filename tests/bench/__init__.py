"""What `build.py bench` runs in the page."""
