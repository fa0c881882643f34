# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Operations on columns that are slow in numpy and pandas; ``compiled.py`` has the same in Python.

Equal runs and rows are found with a hash table with open addressing. Its size is a power of two, at least 1.5 times
the number of entries; 0 is free. Hashes are keyed by a random ``seed``, so hostile data cannot make them collide.
"""

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
    cdef size_t run, place, length, earlier, step
    cdef uint64_t hashed
    # An entry is the upper half of a hash and, below it, the run plus 1.
    for run in range(count):
        length = <size_t>(ends[run + 1] - ends[run])
        hashed = seed ^ length
        for step in range(length):
            hashed = mix(hashed ^ <uint32_t>data[<size_t>ends[run] + step], SECRET ^ seed)
        hashed = mix(hashed, SECRET) >> 32
        place = hashed & mask
        ids[run] = <int32_t>run
        while table[place]:
            earlier = (table[place] & 0xffffffffu) - 1
            if (
                table[place] >> 32 == hashed
                and <size_t>(ends[earlier + 1] - ends[earlier]) == length
                and memcmp(data + ends[earlier], data + ends[run], 4 * length) == 0
            ):
                ids[run] = <int32_t>earlier
                break
            place = (place + 1) & mask
        else:
            table[place] = hashed << 32 | (run + 1)


def distinct_runs(const int32_t[::1] data, int64_t[::1] ends, int32_t[::1] ids, uint64_t seed):
    """Set each of ``ids`` to the first run ``data[ends[i]:ends[i + 1]]`` that equals the one at its place."""
    cdef size_t count = ids.shape[0]
    cdef size_t size = 16
    cdef size_t run
    cdef uint64_t *table
    if <size_t>ends.shape[0] != count + 1 or count >= 0x7fffffff:
        raise ValueError("one end more than there are runs")
    if count == 0:
        return
    if ends[0] < 0 or ends[count] > data.shape[0]:
        raise ValueError("runs beyond the data")
    for run in range(count):
        if ends[run] > ends[run + 1]:
            raise ValueError("a run that ends before it begins")
    while size < 2 * count:
        size *= 2
    table = <uint64_t *>calloc(size, sizeof(uint64_t))
    if table == NULL:
        raise MemoryError
    with nogil:
        number_runs(&data[0] if data.shape[0] else NULL, &ends[0], count, &ids[0], table, size - 1, seed)
    free(table)


cdef inline uint64_t load(const uint8_t *column, size_t width, size_t row) noexcept nogil:
    if width == 4:
        return (<const uint32_t *>column)[row]
    if width == 8:
        return (<const uint64_t *>column)[row]
    return column[row] if width == 1 else (<const uint16_t *>column)[row]


cdef bint same_rows(const uint8_t **columns, size_t *widths, int count, size_t row, size_t earlier) noexcept nogil:
    cdef int column
    for column in range(count):
        if load(columns[column], widths[column], row) != load(columns[column], widths[column], earlier):
            return False
    return True


cdef enum:
    AHEAD = 64  # rows whose places in the table are fetched before they are needed


cdef void number_rows(
    const uint8_t **columns, size_t *widths, int columns_count, size_t count, int32_t *ids, uint32_t *table,
    size_t mask, uint64_t seed,
) noexcept nogil:
    """Number rows by the first that equals each; a table entry is a row plus 1 below, bits of its hash above.

    Rows are taken AHEAD at a time: hash them column by column, prefetch their entries, then look these up, so
    that the waits for memory overlap.
    """
    cdef size_t row, begin, step, steps, place, earlier
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
            row = begin + step
            place = hashes[step] & mask
            mark = <uint32_t>(hashes[step] >> 32) >> bits << bits
            ids[row] = <int32_t>row
            while table[place]:
                earlier = (table[place] & ((<uint32_t>1 << bits) - 1)) - 1
                if table[place] >> bits << bits == mark and same_rows(columns, widths, columns_count, row, earlier):
                    ids[row] = <int32_t>earlier
                    break
                place = (place + 1) & mask
            else:
                table[place] = mark | <uint32_t>(row + 1)
        begin += AHEAD


def distinct_rows(list columns, int32_t[::1] ids, uint64_t seed):
    """Set each of ``ids`` to the first row that equals the one at its place; ``columns`` are bytes, row by row."""
    cdef const uint8_t *data[16]
    cdef size_t widths[16]
    cdef const uint8_t[::1] column
    cdef size_t count = ids.shape[0]
    cdef size_t size = 16
    cdef int index, column_count
    cdef uint32_t *table
    if count == 0:
        return
    if len(columns) > 16 or count >= 0x7fffffff:
        raise ValueError("too many columns or rows")
    for index in range(len(columns)):
        column = columns[index]
        widths[index] = column.shape[0] // count
        if widths[index] not in (1, 2, 4, 8) or column.shape[0] != <Py_ssize_t>(widths[index] * count):
            raise ValueError("columns of different lengths")
        data[index] = &column[0]
    while size < count + count // 2:
        size *= 2
    table = <uint32_t *>calloc(size, sizeof(uint32_t))
    if table == NULL:
        raise MemoryError
    column_count = <int>len(columns)
    with nogil:
        number_rows(data, widths, column_count, count, &ids[0], table, size - 1, seed)
    free(table)


def mark_used(const int32_t[:, ::1] cells, uint8_t[:, ::1] used):
    """Set ``used[column, slot]`` to 1 for each of ``cells``, a line per row."""
    cdef Py_ssize_t row, column
    cdef int32_t slot
    cdef int32_t slots = <int32_t>used.shape[1]
    cdef bint is_invalid = False
    if used.shape[0] != cells.shape[1] or used.shape[1] > 0x7fffffff:
        raise ValueError("as many columns of marks as of cells")
    with nogil:
        for row in range(cells.shape[0]):
            for column in range(cells.shape[1]):
                slot = cells[row, column]
                if 0 <= slot < slots:
                    used[column, slot] = 1
                else:
                    is_invalid = True
    if is_invalid:
        raise ValueError("a cell that is no slot")


def take_runs(
    const int32_t[::1] values, const int64_t[::1] starts, const int64_t[::1] counts, const int32_t[::1] row_of,
    int32_t[::1] rows, uint8_t[::1] used,
):
    """Set ``rows`` to ``row_of[value]`` for the values of one run after another; mark each row in ``used``."""
    cdef Py_ssize_t run, step, done = 0
    cdef int32_t value, row
    cdef bint is_invalid = starts.shape[0] != counts.shape[0]
    with nogil:
        for run in range(starts.shape[0] if not is_invalid else 0):
            if (
                starts[run] < 0 or not 0 <= counts[run] <= values.shape[0] - starts[run]
                or counts[run] > rows.shape[0] - done
            ):
                is_invalid = True
                break
            for step in range(counts[run]):
                value = values[starts[run] + step]
                row = row_of[value] if 0 <= value < row_of.shape[0] else -1
                if row >= used.shape[0]:
                    is_invalid = True
                elif row >= 0:
                    used[row] = 1
                rows[done + step] = row
            done += counts[run]
    if is_invalid or done != rows.shape[0]:
        raise ValueError("runs beyond the values, or rows that are not there")
