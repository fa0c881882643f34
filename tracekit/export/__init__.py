"""Tables, traces and analyses in other tools' formats."""
