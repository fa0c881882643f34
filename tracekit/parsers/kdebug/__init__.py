"""Recordings by the kernel itself, without Instruments: kdebug streams (``.ktrace``) and stackshots."""
