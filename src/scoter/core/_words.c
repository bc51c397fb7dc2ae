/* The words and numbers of a text, as words_hash() in traps.py needs them; it has the same in Python. */

#include "native.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "spaces.h"

enum { WIDTH = 8, BUCKETS = 256, MOST_IGNORED = BUCKETS / 2 };

static unsigned bucket(uint64_t key) {
    return (unsigned)((key * 0x9e3779b97f4a7c15u) >> 56);
}

/* The length in bytes of the first three characters of a word, or 0 if it has fewer. */
static size_t three_characters(const char *word, size_t length) {
    if (length >= 3 && !((word[0] | word[1] | word[2]) & 0x80))
        return 3;
    size_t at = 0;
    for (int characters = 0; characters < 3; characters++) {
        if (at >= length)
            return 0;
        at++;
        while (at < length && ((unsigned char)word[at] & 0xc0) == 0x80)
            at++;
    }
    return at;
}

/* Kinds of bytes: all that is not white space, digit or parenthesis belongs to words. */
enum { INSIDE = 0, UPPER = 1, END = 2, DIGIT = 3, HIGH = 4 };
static unsigned char kinds[256];

static void fill_kinds(void) {
    for (int byte = 0; byte < 256; byte++) {
        bool ends = byte == '(' || is_ascii_space((unsigned char)byte);
        bool upper = byte >= 'A' && byte <= 'Z', digit = byte >= '0' && byte <= '9';
        kinds[byte] = byte >= 0x80 ? HIGH : ends ? END : digit ? DIGIT : upper ? UPPER : INSIDE;
    }
}

static bool is_in_number(unsigned char byte) { /* [\w.,:/-], of ASCII */
    return (byte >= ',' && byte <= ':') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
}

/* Whether the character after a number is sure to be neither letter nor digit, if it is not ASCII. */
static bool ends_number(const unsigned char *at, size_t length) {
    if (length == 0 || at[0] < 0x80)
        return true;
    if (at[0] == 0xc2 && length > 1)
        return strchr("\xaa\xb2\xb3\xb5\xb9\xba\xbc\xbd\xbe", at[1]) == NULL;
    return length > 2 && at[0] == 0xe2 && (at[1] == 0x80 || (at[1] == 0x82 && at[2] >= 0xa0));
}

static char lower_of(char byte) {
    return kinds[(unsigned char)byte] == UPPER ? (char)(byte | 0x20) : byte;
}

/* Where words are collected. A lower-case letter may be longer than its capital, at most twice as long. */
typedef struct {
    char *data;
    size_t used, count;
    uint64_t ignored[BUCKETS]; /* a hash table */
    PyObject *numbers;
} words;

enum { DONE, TOO_HARD, FAILED };

static void ignore(words *to, const char *field) {
    uint64_t key;
    memcpy(&key, field, WIDTH);
    unsigned at = bucket(key);
    while (to->ignored[at])
        at = (at + 1) % BUCKETS;
    to->ignored[at] = key;
}

static bool is_ignored(const words *to, const char *word, size_t length) {
    size_t prefix = three_characters(word, length);
    if (prefix == 0 || prefix > WIDTH)
        return false;
    uint64_t key = 0;
    if (prefix == 3)
        memcpy(&key, word, 3);
    else
        memcpy(&key, word, prefix);
    for (unsigned at = bucket(key); to->ignored[at]; at = (at + 1) % BUCKETS) {
        if (to->ignored[at] == key)
            return true;
    }
    return false;
}

/* Write a word with other letters than those of ASCII in lower case; return its length, or -1 with an exception. */
static Py_ssize_t write_lower(const char *word, size_t length, char *to) {
    Py_ssize_t size = -1;
    PyObject *text = PyUnicode_DecodeUTF8(word, (Py_ssize_t)length, NULL);
    PyObject *lower = text ? PyObject_CallMethod(text, "lower", NULL) : NULL;
    const char *found = lower ? PyUnicode_AsUTF8AndSize(lower, &size) : NULL;
    if (found && (size_t)size <= 2 * length)
        memcpy(to, found, (size_t)size);
    else
        size = -1;
    if (size < 0 && !PyErr_Occurred())
        PyErr_SetString(PyExc_SystemError, "a word is much longer in lower case");
    Py_XDECREF(text);
    Py_XDECREF(lower);
    return size;
}

static int add_number(words *to, const char *number, size_t length) {
    char *scratch = to->data + to->used;
    for (size_t at = 0; at < length; at++)
        scratch[at] = lower_of(number[at]);
    PyObject *text = PyUnicode_FromStringAndSize(scratch, (Py_ssize_t)length);
    int failed = text ? PyList_Append(to->numbers, text) : -1;
    Py_XDECREF(text);
    return failed ? FAILED : DONE;
}

/* Copy ordinary bytes in lower case, eight at a time, which may write more than are returned. */
static size_t copy_ordinary(const char *from, size_t length, char *to) {
    size_t at = 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    while (length - at >= WIDTH) {
        uint64_t bytes;
        memcpy(&bytes, from + at, WIDTH);
        uint64_t low = bytes & all(0x7f);
        uint64_t other = (bytes & all(0x80)) | (at_least(low, '!') ^ all(0x80)) |
                         (at_least(low, '(') & ~at_least(low, ')')) | (at_least(low, '0') & ~at_least(low, '9' + 1));
        bytes |= (at_least(low, 'A') & ~at_least(low, 'Z' + 1)) >> 2;
        memcpy(to + at, &bytes, WIDTH);
        if (other)
            return at + (size_t)__builtin_ctzll(other) / 8;
        at += WIDTH;
    }
#endif
    for (; at < length; at++) {
        unsigned char kind = kinds[(unsigned char)from[at]];
        if (kind != INSIDE && kind != UPPER)
            break;
        to[at] = lower_of(from[at]);
    }
    return at;
}

static int split_text(words *to, const char *text, size_t length, bool is_lower) {
    size_t at = 0;
    while (at < length) {
        unsigned char kind = kinds[(unsigned char)text[at]];
        size_t width = kind == END ? 1 : kind == HIGH ? space_at(text + at, length - at) : 0;
        if (width) {
            at += width;
            continue;
        }
        size_t begin = at;
        if (kind == DIGIT) {
            while (at < length && is_in_number((unsigned char)text[at]))
                at++;
            if (!ends_number((const unsigned char *)text + at, length - at))
                return TOO_HARD;
            if (add_number(to, text + begin, at - begin) == FAILED)
                return FAILED;
            continue;
        }
        size_t start = to->used + (to->count > 0), end = start;
        bool has_high = false;
        while (at < length) {
            size_t copied = copy_ordinary(text + at, length - at, to->data + end);
            at += copied;
            end += copied;
            if (at == length)
                break;
            kind = kinds[(unsigned char)text[at]];
            if (kind == END || kind == DIGIT || (kind == HIGH && space_at(text + at, length - at)))
                break;
            has_high |= kind == HIGH;
            to->data[end++] = text[at++];
        }
        if (has_high && !is_lower) {
            Py_ssize_t size = write_lower(text + begin, at - begin, to->data + start);
            if (size < 0)
                return FAILED;
            end = start + (size_t)size;
        }
        if (is_ignored(to, to->data + start, end - start))
            continue;
        if (to->count++)
            to->data[start - 1] = ' ';
        to->used = end;
    }
    return DONE;
}

/* Whether so many letters are not ASCII that a text is better put in lower case as a whole. */
static bool is_foreign(const char *text, size_t length) {
    size_t high = 0, at = 0;
    for (; length - at >= WIDTH; at += WIDTH) {
        uint64_t bytes;
        memcpy(&bytes, text + at, WIDTH);
        high += (size_t)__builtin_popcountll(bytes & all(0x80));
    }
    for (; at < length; at++)
        high += (unsigned char)text[at] >> 7;
    return high > length / 8;
}

static int split_source(words *to, PyObject *source) {
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(source, &size);
    if (text == NULL) { /* lone surrogates */
        PyErr_Clear();
        return TOO_HARD;
    }
    bool foreign = is_foreign(text, (size_t)size);
    PyObject *lower = NULL;
    if (foreign) {
        lower = PyObject_CallMethod(source, "lower", NULL);
        text = lower ? PyUnicode_AsUTF8AndSize(lower, &size) : NULL;
    }
    int result = FAILED;
    char *data = text ? realloc(to->data, to->used + 2 * (size_t)size + 2 * WIDTH) : NULL;
    if (data) {
        to->data = data;
        result = split_text(to, text, (size_t)size, foreign);
    } else if (text) {
        PyErr_NoMemory();
    }
    Py_XDECREF(lower);
    return result;
}

PyDoc_STRVAR(split_doc,
             "split(title, text, ignored)\n--\n\n"
             "Return the words of a title and a text in lower case, joined by spaces, how many there are, and the\n"
             "numbers; or None if a text is too hard.\n\n"
             "Words are left out if they begin with one of ``ignored``: three characters each, in fields of eight bytes.");

static PyObject *split(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *title, *text, *result = NULL;
    const char *ignored;
    Py_ssize_t ignored_length;
    words to = {0};
    if (!PyArg_ParseTuple(args, "UUy#", &title, &text, &ignored, &ignored_length))
        return NULL;
    if (ignored_length / WIDTH > MOST_IGNORED) {
        PyErr_SetString(PyExc_ValueError, "too many words are ignored");
        return NULL;
    }
    for (Py_ssize_t each = 0; each + WIDTH <= ignored_length; each += WIDTH)
        ignore(&to, ignored + each);
    to.numbers = PyList_New(0);
    int done = to.numbers ? split_source(&to, title) : FAILED;
    if (done == DONE)
        done = split_source(&to, text);
    if (done == DONE)
        result = Py_BuildValue("(y#nO)", to.data, (Py_ssize_t)to.used, (Py_ssize_t)to.count, to.numbers);
    else if (done == TOO_HARD)
        result = Py_NewRef(Py_None);
    free(to.data);
    Py_XDECREF(to.numbers);
    return result;
}

static PyMethodDef methods[] = {{"split", split, METH_VARARGS, split_doc}, {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_words", "Words of texts, in C.", -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__words(void) {
    fill_kinds();
    return module_of(&definition);
}
