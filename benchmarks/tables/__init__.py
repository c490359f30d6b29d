"""Tables and plots of the records, a module for each kind; run.py calls them."""
