/* White space, as str.isspace() has it, in UTF-8; and comparisons of eight bytes at once. */

#ifndef SCOTER_SPACES_H
#define SCOTER_SPACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool is_ascii_space(unsigned char byte) {
    return byte == ' ' || (byte >= '\t' && byte <= '\r') || (byte >= 0x1c && byte <= 0x1f);
}

/* The length of the character of white space that a text begins with, or 0. */
static inline size_t space_at(const char *text, size_t length) {
    const unsigned char *at = (const unsigned char *)text;
    if (length == 0)
        return 0;
    if (at[0] < 0x80)
        return is_ascii_space(at[0]);
    if (at[0] == 0xc2)
        return length > 1 && (at[1] == 0x85 || at[1] == 0xa0) ? 2 : 0;
    if (length < 3)
        return 0;
    if (at[0] == 0xe1)
        return at[1] == 0x9a && at[2] == 0x80 ? 3 : 0;
    if (at[0] == 0xe2 && at[1] == 0x80)
        return (at[2] >= 0x80 && at[2] <= 0x8a) || at[2] == 0xa8 || at[2] == 0xa9 || at[2] == 0xaf ? 3 : 0;
    if (at[0] == 0xe2)
        return at[1] == 0x81 && at[2] == 0x9f ? 3 : 0;
    return at[0] == 0xe3 && at[1] == 0x80 && at[2] == 0x80 ? 3 : 0;
}

static inline uint64_t all(unsigned char byte) {
    return byte * 0x0101010101010101u;
}

/* The highest bit of each byte that is at least a limit, for bytes below 0x80. */
static inline uint64_t at_least(uint64_t bytes, unsigned char limit) {
    return (bytes + all((unsigned char)(0x80 - limit))) & all(0x80);
}

#endif
