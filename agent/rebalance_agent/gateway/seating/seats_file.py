"""Saves the seats of one gateway in a file, from which the next process on this machine restores them."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path

from rebalance_agent.clock import Clock
from rebalance_agent.errors import DecodeError
from rebalance_agent.gateway.seating.seating_groups import SeatingGroups
from rebalance_agent.gateway.seats.seat_list import LIST_BYTES_MAX, SeatList, decode_seats, encode_seats
from rebalance_agent.model.reported.seat_event import Act
from rebalance_agent.regular_files import regular_file

__all__ = ["SAVE_SECONDS", "SeatsFile"]

SAVE_SECONDS = 1.0
"""Seconds between checks for changed seats. A killed gateway loses the changes since the last check."""


class SeatsFile:
    """Saves the seats of ``groups`` whenever they change. Errors are counted, and the gateway continues.

    The file is replaced as a whole, and only its owner may read it. There is no fsync: the file survives the end of the
    process, but perhaps not a crash of the machine. Two gateways must not use the same file.
    """

    def __init__(self, path: str, groups: SeatingGroups, clock: Clock) -> None:
        """Set the path; nothing is read or written yet."""
        self._path, self._groups, self._clock = Path(path), groups, clock
        self._saved = b""

    def restore(self) -> None:
        """Restore the seats in the file, if it exists; call this before any client connects."""
        try:
            with regular_file(str(self._path)) as file:
                seats = decode_seats(file.read(LIST_BYTES_MAX + 1))
        except FileNotFoundError:
            return
        except (OSError, DecodeError) as error:
            self._groups.report.failed(Act.RESTORE, "", error)
            return
        self._groups.restore(seats.groups, (self._clock.now_ms() - seats.saved_ms) / 1000)

    async def run(self, ended: asyncio.Event) -> None:
        """Save changes until ``ended`` is set, and then once more."""
        last = False
        while not last:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), SAVE_SECONDS)
            last = ended.is_set()
            seats = SeatList(self._clock.now_ms(), self._groups.saved())
            try:
                await asyncio.to_thread(self._save, seats)
            except OSError as error:
                self._groups.report.failed(Act.RESTORE, "", error)

    def _save(self, seats: SeatList) -> None:
        """Write the list, unless the file already has it; to be called in a thread, since a disk may be slow."""
        data = encode_seats(seats)
        entries = data.partition(b"\n")[2]  # the first line contains the time
        if entries == self._saved:
            return
        new = self._path.with_name(f".{self._path.name}.new")
        try:
            with open(new, "wb", opener=_open_private) as file:
                file.write(data)
            new.replace(self._path)
        except OSError:
            with contextlib.suppress(OSError):
                new.unlink(missing_ok=True)
            raise
        self._saved = entries


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)
