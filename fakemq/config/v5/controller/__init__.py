"""The config keys of controllers: tables, classes, and the controllers that they describe."""
