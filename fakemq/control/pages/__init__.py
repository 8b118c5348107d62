"""The files of the pages: HTML, style and scripts, sent as they are by `fakemq.control.page`."""
