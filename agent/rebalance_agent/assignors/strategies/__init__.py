"""One strategy each, ``Roster -> Plan``, with what only it needs beside it."""
