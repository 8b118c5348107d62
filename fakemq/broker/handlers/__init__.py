"""What a broker answers: one module a request code; a module is found by being here."""
