"""The commands of ``tracekit probe``, a file each."""
