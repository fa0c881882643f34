/* Helpers that need C: sixteen bytes at a time, numbers read as one word, a hash. */
#ifndef TRACEKIT_BYTES_H
#define TRACEKIT_BYTES_H

#include <stdint.h>
#include <string.h>
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "words are compared as little-endian machines load them; without this scanner, tracekit reads with lxml"
#endif

#if defined(TRACEKIT_NO_SIMD) /* for tests */
#elif defined(__SSE2__)
#define TRACEKIT_SSE2
#include <emmintrin.h>
#elif defined(__ARM_NEON)
#define TRACEKIT_NEON
#include <arm_neon.h>
#endif

static inline uint64_t load64(const uint8_t *p) { uint64_t word; memcpy(&word, p, 8); return word; }

/* Return whether a byte needs a check of its own: a control character, not ASCII, markup, or `other`. */
static inline int special(uint8_t c, uint8_t other) {
    return c < 0x20 || c > 0x7f || c == '<' || c == '&' || c == other;
}

/* The first such byte from p on; there is always one, for the buffer ends with zeros. */
static inline const uint8_t *next_special(const uint8_t *p, uint8_t other) {
#if defined(TRACEKIT_SSE2)
    for (;; p += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)p);
        __m128i found = _mm_or_si128(
            _mm_or_si128(_mm_cmplt_epi8(v, _mm_set1_epi8(0x20)), _mm_cmpeq_epi8(v, _mm_set1_epi8('<'))),
            _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('&')), _mm_cmpeq_epi8(v, _mm_set1_epi8((char)other))));
        int mask = _mm_movemask_epi8(found);
        if (mask) return p + __builtin_ctz((unsigned)mask);
    }
#elif defined(TRACEKIT_NEON)
    for (;; p += 16) {
        uint8x16_t v = vld1q_u8(p);
        uint8x16_t found = vorrq_u8(
            vorrq_u8(vcltq_s8(vreinterpretq_s8_u8(v), vdupq_n_s8(0x20)), vceqq_u8(v, vdupq_n_u8('<'))),
            vorrq_u8(vceqq_u8(v, vdupq_n_u8('&')), vceqq_u8(v, vdupq_n_u8(other))));
        uint64_t mask = vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(found), 4)), 0);
        if (mask) return p + (__builtin_ctzll(mask) >> 2);
    }
#else
    while (!special(*p, other)) p++;
    return p;
#endif
}

/* The canonical decimal number from p up to a quote, which is returned; NULL for anything else. Numbers of up
   to seven digits are read as one word: which of eight bytes is the quote, are those before it digits, and
   their sum by multiplications. */
static inline const uint8_t *number_to_quote(const uint8_t *p, uint64_t *value) {
    if (*p < '1' || *p > '9') return NULL;
#if defined(__GNUC__)
    const uint64_t ones = 0x0101010101010101u;
    uint64_t word = load64(p);
    uint64_t other = word ^ ('"' * ones);
    uint64_t quotes = (other - ones) & ~other & (0x80 * ones);
    if (quotes) {
        int digits = __builtin_ctzll(quotes) >> 3;
        int unused = 64 - 8 * digits;
        uint64_t zeros = ('0' * ones) << unused;
        word <<= unused;
        if ((word & ((0xf0 * ones) << unused)) != zeros) return NULL;
        word -= zeros;
        if ((word + 0x76 * ones) & (0x80 * ones)) return NULL;
        word = word * 10 + (word >> 8);
        *value = ((word & 0x000000ff000000ffu) * 0x000f424000000064u
            + ((word >> 16) & 0x000000ff000000ffu) * 0x0000271000000001u) >> 32;
        return p + digits;
    }
#endif
    {
        const uint8_t *begin = p;
        uint64_t number = 0;
        while (*p >= '0' && *p <= '9' && p - begin < 11) number = number * 10 + (*p++ - '0');
        *value = number;
        return *p == '"' && p - begin <= 10 ? p : NULL;
    }
}

#if defined(__GNUC__)
#define prefetch(place) __builtin_prefetch(place)
#else
#define prefetch(place) ((void)(place))
#endif

/* Two words into one, keyed: the author of a hostile export cannot choose strings that collide. */
static inline uint64_t mix(uint64_t a, uint64_t b) {
#if defined(__SIZEOF_INT128__)
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    a = (a ^ (a >> 32)) * 0xd6e8feb86659fd93u; b = (b ^ (b >> 29)) * 0xa0761d6478bd642fu;
    return a ^ (b << 23) ^ (b >> 41) ^ (a >> 27);
#endif
}

#endif
