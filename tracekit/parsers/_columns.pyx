# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Work on columns for which numpy and pandas have no quick way; ``compiled.py`` has the same in Python."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp

cdef extern from "xml/scan_source/bytes.h":
    uint64_t mix(uint64_t a, uint64_t b) nogil
    void prefetch(void *place) nogil

cdef uint64_t SECRET = 0x9e3779b97f4a7c15


cdef void number_runs(
    const int32_t *data, int64_t *ends, size_t count, int32_t *ids, uint64_t *table, size_t mask, uint64_t seed
) noexcept nogil:
    cdef size_t at, place, length, other, step
    cdef uint64_t hashed
    for at in range(count):
        length = <size_t>(ends[at + 1] - ends[at])
        hashed = seed ^ length
        for step in range(length):
            hashed = mix(hashed ^ <uint32_t>data[<size_t>ends[at] + step], SECRET ^ seed)
        hashed = mix(hashed, SECRET) >> 32
        place = hashed & mask
        ids[at] = <int32_t>at
        while table[place]:
            other = (table[place] & 0xffffffffu) - 1
            if (
                table[place] >> 32 == hashed
                and <size_t>(ends[other + 1] - ends[other]) == length
                and memcmp(data + ends[other], data + ends[at], 4 * length) == 0
            ):
                ids[at] = <int32_t>other
                break
            place = (place + 1) & mask
        else:
            table[place] = hashed << 32 | (at + 1)


def distinct_runs(const int32_t[::1] data, int64_t[::1] ends, int32_t[::1] ids, uint64_t seed):
    """Set each of ``ids`` to the first run ``data[ends[i]:ends[i + 1]]`` that equals the one at its place."""
    cdef size_t count = ids.shape[0]
    cdef size_t size = 16
    cdef size_t at
    cdef uint64_t *table
    if <size_t>ends.shape[0] != count + 1 or count >= 0x7fffffff:
        raise ValueError("one end more than there are runs")
    if count == 0:
        return
    if ends[0] < 0 or ends[count] > data.shape[0]:
        raise ValueError("runs beyond the data")
    for at in range(count):
        if ends[at] > ends[at + 1]:
            raise ValueError("a run that ends before it begins")
    while size < 2 * count:
        size *= 2
    table = <uint64_t *>calloc(size, sizeof(uint64_t))
    if table == NULL:
        raise MemoryError
    with nogil:
        number_runs(&data[0] if data.shape[0] else NULL, &ends[0], count, &ids[0], table, size - 1, seed)
    free(table)


cdef inline uint64_t load(const uint8_t *column, size_t width, size_t at) noexcept nogil:
    if width == 4:
        return (<const uint32_t *>column)[at]
    if width == 8:
        return (<const uint64_t *>column)[at]
    return column[at] if width == 1 else (<const uint16_t *>column)[at]


cdef bint same_rows(const uint8_t **columns, size_t *widths, int count, size_t one, size_t other) noexcept nogil:
    cdef int at
    for at in range(count):
        if load(columns[at], widths[at], one) != load(columns[at], widths[at], other):
            return False
    return True


cdef enum:
    AHEAD = 64  # rows whose places in the table are fetched before they are needed


cdef void number_rows(
    const uint8_t **columns, size_t *widths, int columns_count, size_t count, int32_t *ids, uint32_t *table,
    size_t mask, uint64_t seed,
) noexcept nogil:
    """An entry of the table is a row plus 1 and, above it, as many bits of its hash as there is room for."""
    cdef size_t at, begin, step, steps, place, other
    cdef uint64_t hashes[AHEAD]
    cdef uint32_t mark
    cdef int column
    cdef int bits = 1
    while count >> bits:
        bits += 1
    begin = 0
    while begin < count:
        steps = min(<size_t>AHEAD, count - begin)
        for step in range(steps):
            hashes[step] = seed
        for column in range(columns_count):
            for step in range(steps):
                hashes[step] = mix(hashes[step] ^ load(columns[column], widths[column], begin + step), SECRET ^ seed)
        for step in range(steps):
            hashes[step] = mix(hashes[step], SECRET)
            prefetch(&table[hashes[step] & mask])
        for step in range(steps):
            at = begin + step
            place = hashes[step] & mask
            mark = <uint32_t>(hashes[step] >> 32) >> bits << bits
            ids[at] = <int32_t>at
            while table[place]:
                other = (table[place] & ((<uint32_t>1 << bits) - 1)) - 1
                if table[place] >> bits << bits == mark and same_rows(columns, widths, columns_count, at, other):
                    ids[at] = <int32_t>other
                    break
                place = (place + 1) & mask
            else:
                table[place] = mark | <uint32_t>(at + 1)
        begin += AHEAD


def distinct_rows(list columns, int32_t[::1] ids, uint64_t seed):
    """Set each of ``ids`` to the first row that equals the one at its place; ``columns`` are bytes, row by row."""
    cdef const uint8_t *data[16]
    cdef size_t widths[16]
    cdef const uint8_t[::1] column
    cdef size_t count = ids.shape[0]
    cdef size_t size = 16
    cdef int at
    cdef uint32_t *table
    if count == 0:
        return
    if len(columns) > 16 or count >= 0x7fffffff:
        raise ValueError("too many columns or rows")
    for at in range(len(columns)):
        column = columns[at]
        widths[at] = column.shape[0] // count
        if widths[at] not in (1, 2, 4, 8) or column.shape[0] != <Py_ssize_t>(widths[at] * count):
            raise ValueError("columns of different lengths")
        data[at] = &column[0]
    while size < count + count // 2:
        size *= 2
    table = <uint32_t *>calloc(size, sizeof(uint32_t))
    if table == NULL:
        raise MemoryError
    at = <int>len(columns)
    with nogil:
        number_rows(data, widths, at, count, &ids[0], table, size - 1, seed)
    free(table)


def mark_used(const int32_t[:, ::1] cells, uint8_t[:, ::1] used):
    """Set ``used[column, slot]`` to 1 for each of ``cells``, a line per row."""
    cdef Py_ssize_t row, column
    cdef int32_t slot
    cdef int32_t slots = <int32_t>used.shape[1]
    cdef bint strange = False
    if used.shape[0] != cells.shape[1] or used.shape[1] > 0x7fffffff:
        raise ValueError("as many columns of marks as of cells")
    with nogil:
        for row in range(cells.shape[0]):
            for column in range(cells.shape[1]):
                slot = cells[row, column]
                if 0 <= slot < slots:
                    used[column, slot] = 1
                else:
                    strange = True
    if strange:
        raise ValueError("a cell that is no slot")


def take_runs(
    const int32_t[::1] values, const int64_t[::1] starts, const int64_t[::1] counts, const int32_t[::1] row_of,
    int32_t[::1] rows, uint8_t[::1] used,
):
    """Set ``rows`` to ``row_of[value]`` for the values of one run after another; mark each row in ``used``."""
    cdef Py_ssize_t at, step, done = 0
    cdef int32_t value, row
    cdef bint strange = starts.shape[0] != counts.shape[0]
    with nogil:
        for at in range(starts.shape[0] if not strange else 0):
            if (
                starts[at] < 0 or not 0 <= counts[at] <= values.shape[0] - starts[at]
                or counts[at] > rows.shape[0] - done
            ):
                strange = True
                break
            for step in range(counts[at]):
                value = values[starts[at] + step]
                row = row_of[value] if 0 <= value < row_of.shape[0] else -1
                if row >= used.shape[0]:
                    strange = True
                elif row >= 0:
                    used[row] = 1
                rows[done + step] = row
            done += counts[at]
    if strange or done != rows.shape[0]:
        raise ValueError("runs beyond the values, or rows that are not there")
