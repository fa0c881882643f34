/* Compares scan_source/bytes.h with plain loops, on random bytes; prints which instructions it was built with. */
#include "bytes.h"

#include <stdio.h>

static uint64_t state = 88172645463325252u;

static uint64_t dice(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static const uint8_t *plain_special(const uint8_t *p, uint8_t other) {
    while (!(*p < 0x20 || *p > 0x7f || *p == '<' || *p == '&' || *p == other)) p++;
    return p;
}

static const uint8_t *plain_number(const uint8_t *p, uint64_t *value) {
    const uint8_t *begin = p;
    if (*p == '0') return NULL;
    for (*value = 0; *p >= '0' && *p <= '9'; p++) *value = *value * 10 + (*p - '0');
    return *p == '"' && p > begin && p - begin <= 10 ? p : NULL;
}

int main(void) {
    static const char letters[] = "0123456789abc =/>\"<&\n\t\x1f\x7f\x80\xe2\xff";
    uint8_t bytes[160];
    for (int number = 0; number < 300000; number++) {
        size_t start = dice() % 16, length = dice() % 70, kinds = dice() % 3 ? 13 : sizeof letters - 1;
        memset(bytes, 0, sizeof bytes);
        for (size_t index = start; index < start + length; index++) bytes[index] = (uint8_t)letters[dice() % kinds];
        if (dice() % 2) bytes[start + dice() % 12] = '"';
        for (size_t index = start; index < start + length; index++) {
            uint64_t value = 0, plain = 0;
            const uint8_t *p = bytes + index, *end = plain_number(p, &plain);
            if (next_special(p, '"') != plain_special(p, '"') || next_special(p, '>') != plain_special(p, '>')
                || number_to_quote(p, &value) != end || (end && value != plain)) {
                printf("differs at '%.20s'\n", (const char *)p);
                return 1;
            }
        }
    }
#if defined(TRACEKIT_SSE2)
    puts("SSE2");
#elif defined(TRACEKIT_NEON)
    puts("NEON");
#else
    puts("byte by byte");
#endif
    return 0;
}
