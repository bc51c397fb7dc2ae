/* The walk over an HTML page and the text of the page, as in reader.py and page_parts.py, which hold the reasons.

   Lexbor is not linked: the tree is the one that selectolax has built, and Lexbor's functions are those in its module.
   Of Lexbor's structures, only the beginning of a node and the data of a text are read here; check() compares them
   with what Lexbor's functions say before anything else may be called. Removed nodes stay allocated as long as their
   document, so no pointer to one can dangle. */

#include "../../core/native.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../core/spaces.h"

enum { ELEMENT_NODE = 1, TEXT_NODE = 3 };
enum { TEXT_TAG = 2 };
enum { NUMBERS = 256, NOTHING = 255 };
/* The actions of elements.py. */
enum { PIECE, ANCHOR, OUT, HEADING, TERM, META, TITLE, BASE, ROOT, LINK, IMAGE, REFERENCE, SCRIPT };
enum { LONGEST_ANCHOR = 500, DEEPEST = 8, INNER = 3, OUTER = 4 };
enum { LONGEST_SRCSET = 16384, LONGEST_SIZE = 10, LONGEST_REL = 64 };

typedef struct node node;
struct node {
    void *events;
    uintptr_t name, prefix, space;
    void *document;
    node *next, *prev, *parent, *first_child, *last_child;
    void *user;
    unsigned type;
};
typedef struct {
    node node;
    const char *data;
    size_t length;
} text_node;
typedef void attribute;

static node *(*next_of)(node *), *(*prev_of)(node *), *(*parent_of)(node *), *(*first_child_of)(node *),
    *(*last_child_of)(node *);
static uintptr_t (*tag_of)(node *);
static unsigned (*type_of)(node *);
static unsigned char *(*content_of)(node *, size_t *);
static void (*remove_node)(node *);
static void (*insert_before)(node *, node *);
static node *(*create_text)(void *, const char *, size_t);
static attribute *(*first_attribute)(node *), *(*next_attribute)(attribute *);
static const char *(*attribute_name)(attribute *, size_t *), *(*attribute_value)(attribute *, size_t *);

static const struct {
    const char *name;
    void *target;
} functions[] = {
    {"lxb_dom_node_next_noi", &next_of},
    {"lxb_dom_node_prev_noi", &prev_of},
    {"lxb_dom_node_parent_noi", &parent_of},
    {"lxb_dom_node_first_child_noi", &first_child_of},
    {"lxb_dom_node_last_child_noi", &last_child_of},
    {"lxb_dom_node_tag_id_noi", &tag_of},
    {"lxb_dom_node_type_noi", &type_of},
    {"lxb_dom_node_text_content", &content_of},
    {"lxb_dom_node_remove", &remove_node},
    {"lxb_dom_node_insert_before", &insert_before},
    {"lxb_dom_document_create_text_node", &create_text},
    {"lxb_dom_element_first_attribute_noi", &first_attribute},
    {"lxb_dom_element_next_attribute_noi", &next_attribute},
    {"lxb_dom_attr_qualified_name", &attribute_name},
    {"lxb_dom_attr_value_noi", &attribute_value},
};
static bool ready = false;

/* Growing memory. */

typedef struct {
    char *data;
    size_t used, size;
} buffer;

static bool reserve(buffer *to, size_t more) {
    if (more <= to->size - to->used)
        return true;
    size_t size = to->size ? to->size : 1024;
    while (size - to->used < more) {
        if (size > PY_SSIZE_T_MAX / 2)
            return false;
        size *= 2;
    }
    char *data = realloc(to->data, size);
    if (data == NULL)
        return false;
    to->data = data;
    to->size = size;
    return true;
}

static bool append(buffer *to, const char *data, size_t length) {
    if (length == 0)
        return true;
    if (!reserve(to, length))
        return false;
    memcpy(to->data + to->used, data, length);
    to->used += length;
    return true;
}

typedef struct {
    const char *data;
    size_t length;
} span;

static PyObject *str_of(span text) {
    return PyUnicode_DecodeUTF8(text.length ? text.data : "", (Py_ssize_t)text.length, "replace");
}

static span stripped(span text) {
    size_t width;
    while ((width = space_at(text.data, text.length))) {
        text.data += width;
        text.length -= width;
    }
    while (text.length) {
        width = 1; /* to the first byte of the last character */
        while (width < 3 && width < text.length && (text.data[text.length - width] & 0xc0) == 0x80)
            width++;
        if (space_at(text.data + text.length - width, width) != width)
            break;
        text.length -= width;
    }
    return text;
}

static bool is_blank(span text) {
    return stripped(text).length == 0;
}

/* Reading the tree. */

static bool is_text(const node *of) {
    return of->type == TEXT_NODE;
}

static span text_of(const node *of) {
    const text_node *text = (const text_node *)of;
    return (span){text->data, text->data ? text->length : 0};
}

static bool is_unseen(const node *of) { /* processing instructions and comments */
    return of->name == 0 || of->name == 4;
}

/* The node after another one in page order, within a root; its children come first. */
static node *following(node *at, const node *root) {
    if (at->first_child)
        return at->first_child;
    while (at != root && at->next == NULL) {
        at = at->parent;
        if (at == NULL)
            return NULL;
    }
    return at == root ? NULL : at->next;
}

/* Append the texts in a node; adjacent ones belong together if the caller says so, others are separated. */
static bool gather(node *root, buffer *to, const char *separator, bool together) {
    bool any = false;
    for (node *at = following(root, root); at; at = following(at, root)) {
        if (!is_text(at))
            continue;
        bool joined = together && at->prev && is_text(at->prev);
        span text = text_of(at);
        if (any && !joined && !append(to, separator, strlen(separator)))
            return false;
        if (!append(to, text.data, text.length))
            return false;
        any = true;
    }
    return true;
}

static PyObject *attributes_of(node *of) {
    PyObject *found = PyDict_New();
    if (found == NULL || of->type != ELEMENT_NODE)
        return found;
    for (attribute *at = first_attribute(of); at; at = next_attribute(at)) {
        span name = {NULL, 0}, value = {NULL, 0};
        name.data = attribute_name(at, &name.length);
        value.data = attribute_value(at, &value.length);
        PyObject *key = str_of(name);
        PyObject *content = key == NULL ? NULL : value.data ? str_of(value) : Py_NewRef(Py_None);
        int failed = content == NULL ? -1 : PyDict_SetItem(found, key, content);
        Py_XDECREF(key);
        Py_XDECREF(content);
        if (failed) {
            Py_DECREF(found);
            return NULL;
        }
    }
    return found;
}

/* Find attributes by their names; those that are missing or have no value get no data, present tells them apart. */
static void find_attributes(node *of, int count, const char *const names[], span values[], bool present[]) {
    for (int each = 0; each < count; each++) {
        values[each] = (span){NULL, 0};
        present[each] = false;
    }
    if (of->type != ELEMENT_NODE)
        return;
    for (attribute *at = first_attribute(of); at; at = next_attribute(at)) {
        span name = {NULL, 0};
        name.data = attribute_name(at, &name.length);
        for (int each = 0; each < count; each++) {
            if (name.data && strlen(names[each]) == name.length && !memcmp(name.data, names[each], name.length)) {
                present[each] = true;
                values[each].length = 0;
                values[each].data = attribute_value(at, &values[each].length);
                break;
            }
        }
    }
}

/* A walk. */

typedef struct {
    node *node, *parent;
    PyObject *name;
} inner_anchor;

typedef struct {
    node *node;
    PyObject *anchors;
} heading;

typedef struct {
    const unsigned char *kinds, *after, *inline_;
    uintptr_t anchor, span_, section, svg;
    PyObject *links, *metas, *robots, *agents, *element, *words, *wiki, *sources, *largest, *name_a, *empty;
    node *image;
    PyObject *image_label;
    inner_anchor inner[INNER];
    int inners;
    heading *headings;
    size_t headings_used, headings_size;
    buffer scratch;
} walk;

static bool is_inline(const walk *on, const node *of) {
    return of->name < NUMBERS && on->inline_[of->name];
}

static bool is_ascii(span text) {
    for (size_t at = 0; at < text.length; at++) {
        if (text.data[at] & 0x80)
            return false;
    }
    return true;
}

/* Return a text on one line, truncated. */
static PyObject *one_line(walk *on, const char *data, size_t length) {
    if (!is_ascii((span){data, length})) {
        PyObject *text = str_of((span){data, length});
        if (text == NULL)
            return NULL;
        PyObject *line = PyObject_CallFunction(on->words, "Oi", text, LONGEST_ANCHOR);
        Py_DECREF(text);
        return line;
    }
    if (length > 4 * LONGEST_ANCHOR)
        length = 4 * LONGEST_ANCHOR;
    char line[4 * LONGEST_ANCHOR];
    size_t used = 0;
    bool space = false;
    for (size_t at = 0; at < length; at++) {
        if (is_ascii_space((unsigned char)data[at])) {
            space = used > 0;
        } else {
            if (space)
                line[used++] = ' ';
            space = false;
            line[used++] = data[at];
        }
    }
    return str_of((span){line, used < LONGEST_ANCHOR ? used : LONGEST_ANCHOR});
}

static void unwrap(node *piece) {
    if (piece->parent == NULL)
        return;
    for (node *child = piece->first_child, *next; child; child = next) {
        next = child->next;
        remove_node(child);
        insert_before(piece, child);
    }
    remove_node(piece);
}

/* The sibling before a node; comments between them are removed. */
static node *sibling_before(node *of) {
    while (of->prev && is_unseen(of->prev))
        remove_node(of->prev);
    return of->prev;
}

/* The last link or text in a text-level element. */
static node *last_inside(const walk *on, node *found) {
    for (int level = 0; level < DEEPEST; level++) {
        if (found == NULL || found->name == on->anchor || !is_inline(on, found))
            break;
        found = found->last_child;
        if (found && is_unseen(found))
            found = sibling_before(found);
    }
    return found;
}

static bool separate(const walk *on, node *link, span href) {
    node *at = link;
    for (int level = 0; level < DEEPEST; level++) {
        node *before = sibling_before(at);
        if (before == NULL) {
            if (at->parent == NULL || !is_inline(on, at->parent))
                return true;
            at = at->parent;
            continue;
        }
        if (!is_inline(on, before))
            return true;
        node *last = last_inside(on, before);
        if (last == NULL) {
            at = before;
            continue;
        }
        if (last->name == on->anchor) {
            static const char *const names[] = {"href"};
            span other;
            bool present;
            find_attributes(last, 1, names, &other, &present);
            if (other.data && (other.length != href.length || memcmp(other.data, href.data, href.length))) {
                node *blank = create_text(link->document, " ", 1);
                if (blank == NULL)
                    return false;
                insert_before(link, blank);
            }
        }
        return true;
    }
    return true;
}

/* A new reference to the label of the image in a link, or to an empty text. */
static PyObject *image_text(const walk *on, const node *link) {
    const node *at = on->image;
    for (int level = 0; at && level < DEEPEST; level++) {
        at = at->parent;
        if (at == link)
            return Py_NewRef(on->image_label);
    }
    return Py_NewRef(on->empty);
}

static PyObject *lower_of(const walk *on, span text) {
    if (text.data == NULL || text.length == 0)
        return Py_NewRef(on->empty);
    PyObject *found = str_of(text);
    if (found == NULL)
        return NULL;
    PyObject *lower = PyObject_CallMethod(found, "lower", NULL);
    Py_DECREF(found);
    return lower;
}

static PyObject *first_name(const walk *on, span id, span name) {
    if (id.data && id.length)
        return str_of(id);
    return name.data && name.length ? str_of(name) : Py_NewRef(on->empty);
}

static bool add_link(walk *on, PyObject *target, PyObject *text, PyObject *rel, PyObject *name) {
    PyObject *link = PyTuple_Pack(4, target, text, rel, name);
    int failed = link ? PyList_Append(on->links, link) : -1;
    Py_XDECREF(link);
    return !failed;
}

static bool visit_anchor(walk *on, node *at) {
    static const char *const names[] = {"href", "xlink:href", "rel", "id", "name"};
    span values[5];
    bool present[5];
    find_attributes(at, 5, names, values, present);
    span href = values[0].data ? values[0] : values[1];
    if (href.data) {
        on->scratch.used = 0;
        if (!gather(at, &on->scratch, " ", true))
            return PyErr_NoMemory(), false;
        PyObject *text = one_line(on, on->scratch.data, on->scratch.used);
        if (text && PyUnicode_GetLength(text) == 0) {
            Py_DECREF(text);
            text = image_text(on, at);
        }
        PyObject *target = text ? str_of(href) : NULL;
        PyObject *rel = target ? lower_of(on, values[2]) : NULL;
        bool added = rel && add_link(on, target, text, rel, on->name_a);
        Py_XDECREF(text);
        Py_XDECREF(target);
        Py_XDECREF(rel);
        if (!added)
            return false;
        node *beside = at->prev ? at->prev : at->parent;
        if (beside && is_inline(on, beside) && !separate(on, at, href))
            return PyErr_NoMemory(), false;
    } else if (present[3] || present[4]) {
        PyObject *name = first_name(on, values[3], values[4]);
        if (name == NULL)
            return false;
        if (on->inners == INNER) {
            Py_DECREF(on->inner[0].name);
            memmove(on->inner, on->inner + 1, (INNER - 1) * sizeof *on->inner);
            on->inners--;
        }
        on->inner[on->inners++] = (inner_anchor){at, at->parent, name};
    }
    unwrap(at);
    return true;
}

/* The element or text before a node; neither comments nor white space count. */
static node *content_before(const node *of) {
    node *before = of->prev;
    while (before && (is_unseen(before) || (is_text(before) && is_blank(text_of(before)))))
        before = before->prev;
    return before;
}

static bool add_anchor(PyObject *anchors, PyObject *name) { /* takes the reference to the name */
    int failed = name ? PyList_Append(anchors, name) : -1;
    Py_XDECREF(name);
    return !failed;
}

static bool anchor_just_before(walk *on, const node *of, PyObject *anchors) {
    node *before = content_before(of);
    if (before == NULL || is_text(before) || (before->name != on->anchor && before->name != on->span_))
        return true;
    on->scratch.used = 0;
    if (!gather(before, &on->scratch, "", false))
        return PyErr_NoMemory(), false;
    if (!is_blank((span){on->scratch.data, on->scratch.used}))
        return true;
    static const char *const names[] = {"id", "name"};
    span values[2];
    bool present[2];
    find_attributes(before, 2, names, values, present);
    return add_anchor(anchors, first_name(on, values[0], values[1]));
}

static bool anchors_around(const walk *on, const node *of, PyObject *anchors) {
    static const char *const names[] = {"id"};
    const node *around = of;
    for (int level = 0; level < OUTER; level++) {
        bool begins = content_before(around) == NULL;
        node *parent = around->parent;
        if (parent == NULL || !(begins || (level == 0 && parent->name == on->section)))
            return true;
        around = parent;
        span id;
        bool present;
        find_attributes(parent, 1, names, &id, &present);
        if (id.data && id.length && !add_anchor(anchors, str_of(id)))
            return false;
    }
    return true;
}

static void forget_inner(walk *on) {
    while (on->inners)
        Py_DECREF(on->inner[--on->inners].name);
}

static bool own_id(node *of, PyObject *anchors, bool *found) {
    static const char *const names[] = {"id"};
    span id;
    bool present;
    find_attributes(of, 1, names, &id, &present);
    *found = id.data && id.length;
    return !*found || add_anchor(anchors, str_of(id));
}

static bool anchors_inside(walk *on, const node *of, PyObject *anchors) {
    const node *within[INNER + 1] = {of};
    int count = 1;
    bool added = true;
    for (int each = on->inners - 1; each >= 0 && added; each--) {
        for (int known = 0; known < count; known++) {
            if (on->inner[each].parent == within[known]) {
                within[count++] = on->inner[each].node;
                added = PyList_Append(anchors, on->inner[each].name) == 0;
                break;
            }
        }
    }
    forget_inner(on);
    return added;
}

static bool wiki_anchor(const walk *on, node *of, PyObject *anchors) {
    if (PyDict_Size(on->wiki) == 0)
        return true;
    PyObject *key = PyLong_FromVoidPtr(of);
    PyObject *name = key ? PyDict_GetItemWithError(on->wiki, key) : NULL; /* borrowed */
    Py_XDECREF(key);
    if (name == NULL)
        return PyErr_Occurred() == NULL;
    return PyList_Append(anchors, name) == 0;
}

static bool visit_heading(walk *on, node *at, bool is_term) {
    bool found = false;
    PyObject *anchors = PyList_New(0);
    bool done = anchors && own_id(at, anchors, &found);
    if (done && !is_term)
        done = wiki_anchor(on, at, anchors) && anchors_inside(on, at, anchors) &&
               anchor_just_before(on, at, anchors) && anchors_around(on, at, anchors);
    if (!done || (is_term && !found)) {
        Py_XDECREF(anchors);
        return done;
    }
    if (on->headings_used == on->headings_size) {
        size_t size = on->headings_size ? 2 * on->headings_size : 32;
        heading *headings = realloc(on->headings, size * sizeof *headings);
        if (headings == NULL) {
            Py_DECREF(anchors);
            return PyErr_NoMemory(), false;
        }
        on->headings = headings;
        on->headings_size = size;
    }
    on->headings[on->headings_used++] = (heading){at, anchors};
    return true;
}

/* Remove an element without text. Headings in it, such as in an svg, are not on the page; they were visited last. */
static void remove_element(walk *on, node *at) {
    while (on->headings_used) {
        heading *last = &on->headings[on->headings_used - 1];
        const node *top = last->node;
        while (top && top != at)
            top = top->parent;
        if (top == NULL)
            break;
        Py_DECREF(last->anchors);
        on->headings_used--;
    }
    remove_node(at);
}

/* Record a meta element as PageParts.add_meta() does; one that may be a refresh is left to that. */
static bool visit_meta(walk *on, node *at, bool *is_left) {
    static const char *const names[] = {"content", "name", "property", "http-equiv"};
    span values[4];
    bool present[4];
    find_attributes(at, 4, names, values, present);
    *is_left = present[3];
    span content = values[0], name = values[1].length ? values[1] : values[2];
    if (*is_left || content.length == 0 || name.data == NULL)
        return true;
    PyObject *said = str_of(content), *lower = lower_of(on, stripped(name));
    PyObject *meta = said && lower ? PyTuple_Pack(2, lower, said) : NULL;
    int failed = meta ? PyList_Append(on->metas, meta) : -1;
    int concerns = failed ? -1 : PySequence_Contains(on->agents, lower);
    if (concerns > 0)
        failed = PyList_Append(on->robots, said);
    Py_XDECREF(said);
    Py_XDECREF(lower);
    Py_XDECREF(meta);
    return !failed && concerns >= 0;
}

static span without_commas(span text) {
    while (text.length && *text.data == ',') {
        text.data++;
        text.length--;
    }
    return text;
}

/* The number of a descriptor such as 640w or 1.5x, or 0; so few digits make an exact number. */
static double size_of(span descriptor) {
    if (descriptor.length < 2 || descriptor.length > LONGEST_SIZE)
        return 0;
    char unit = descriptor.data[--descriptor.length];
    double number = 0, scale = 0;
    size_t digits = 0;
    for (size_t at = 0; at < descriptor.length; at++) {
        char byte = descriptor.data[at];
        if (byte == '.' && scale == 0) {
            scale = 1;
            continue;
        }
        if (byte < '0' || byte > '9')
            return 0;
        number = 10 * number + (byte - '0');
        scale *= 10;
        digits++;
    }
    return digits && (unit == 'w' || unit == 'x') ? number / (scale ? scale : 1) : 0;
}

/* The widest or densest candidate, as largest() in attributes.py finds it; the text must be ASCII. */
static span widest_of(span srcset) {
    span best = {NULL, 0}, address = {NULL, 0};
    double most = 0, size = 1;
    const char *at = srcset.data, *end = at + (srcset.length < LONGEST_SRCSET ? srcset.length : LONGEST_SRCSET);
    for (;;) {
        while (at < end && is_ascii_space((unsigned char)*at))
            at++;
        if (at == end)
            break;
        span word = {at, 0};
        while (at < end && !is_ascii_space((unsigned char)*at))
            at++;
        word.length = (size_t)(at - word.data);
        span rest = {at, 0};
        if (address.length == 0) {
            address = without_commas(word);
            size = 1;
            if (address.length == 0 || address.data[address.length - 1] != ',')
                continue;
            while (address.data[address.length - 1] == ',')
                address.length--;
        } else {
            const char *comma = memchr(word.data, ',', word.length);
            double found = size_of((span){word.data, comma ? (size_t)(comma - word.data) : word.length});
            size = found > 0 ? found : size;
            if (comma == NULL)
                continue;
            rest = (span){comma + 1, (size_t)(at - comma - 1)};
        }
        if (size > most) {
            best = address;
            most = size;
        }
        address = without_commas(rest);
        size = 1;
    }
    return address.length && size > most ? address : best;
}

/* Record the widest candidate of an image, unless it is the image itself. */
static bool add_widest(walk *on, span srcset, span src, PyObject *label, PyObject *name) {
    PyObject *widest = NULL, *whole = NULL;
    if (is_ascii(srcset))
        widest = str_of(widest_of(srcset));
    else if ((whole = str_of(srcset)))
        widest = PyObject_CallFunctionObjArgs(on->largest, whole, NULL);
    PyObject *own = widest ? str_of(src) : NULL;
    bool done = own != NULL;
    if (done && PyUnicode_GetLength(widest) && (src.data == NULL || PyUnicode_Compare(widest, own)))
        done = add_link(on, widest, label, on->empty, name);
    Py_XDECREF(whole);
    Py_XDECREF(widest);
    Py_XDECREF(own);
    return done;
}

/* Whether a rel may have a meaning for PageParts.add_reference(). */
static bool says_more(span rel) {
    static const char *const words[] = {"canonical", "alternate", "amphtml", "dns-prefetch", "preconnect"};
    char lower[LONGEST_REL];
    if (rel.length > LONGEST_REL || !is_ascii(rel))
        return true;
    for (size_t at = 0; at < rel.length; at++)
        lower[at] = rel.data[at] >= 'A' && rel.data[at] <= 'Z' ? (char)(rel.data[at] | 0x20) : rel.data[at];
    for (size_t each = 0; each < sizeof words / sizeof *words; each++) {
        size_t length = strlen(words[each]);
        for (size_t at = 0; at + length <= rel.length; at++) {
            if (!memcmp(lower + at, words[each], length))
                return true;
        }
    }
    return false;
}

static void finish(walk *on, node *at) {
    unsigned after = on->after[at->name];
    if (after == PIECE)
        unwrap(at);
    else if (after == OUT)
        remove_element(on, at);
}

static void keep_label(walk *on, node *image, PyObject *label) { /* takes the reference to the label */
    PyObject *former = on->image_label;
    on->image = image;
    on->image_label = label;
    Py_DECREF(former);
}

/* Record the links of an element as PageWalk._links() does. Its source has its name and the attributes with links, or
   nothing if they are ignored. A reference that says more about the page is left to that. */
static bool visit_source(walk *on, node *at, unsigned kind, PyObject *source, bool *is_left) {
    enum { REL, ALT, HEADLINE, SRCSET, FIRST, LAST = FIRST + 1, READ };
    const char *names[READ] = {"rel", "alt", "title", "srcset", "", ""};
    span values[READ];
    bool present[READ];
    Py_ssize_t count = PyTuple_Size(source) - 1;
    for (Py_ssize_t each = 0; each < count && each < READ - FIRST; each++) {
        names[FIRST + each] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(source, each + 1), NULL);
        if (names[FIRST + each] == NULL)
            return false;
    }
    find_attributes(at, READ, names, values, present);
    *is_left = kind == REFERENCE && says_more(values[REL]);
    if (*is_left)
        return true;
    span said = values[ALT].length ? values[ALT] : values[HEADLINE];
    PyObject *label = said.length ? one_line(on, said.data, said.length) : Py_NewRef(on->empty);
    PyObject *rel = label ? lower_of(on, values[REL]) : NULL;
    bool done = rel != NULL;
    if (done && kind == IMAGE && count > 0 && values[SRCSET].length)
        done = add_widest(on, values[SRCSET], values[FIRST], label, PyTuple_GetItem(source, 0));
    for (Py_ssize_t each = 0; done && each < count && each < READ - FIRST; each++) {
        if (values[FIRST + each].data == NULL)
            continue;
        PyObject *target = str_of(values[FIRST + each]);
        done = target && add_link(on, target, label, rel, PyTuple_GetItem(source, 0));
        Py_XDECREF(target);
    }
    Py_XDECREF(rel);
    if (done && kind == IMAGE && PyUnicode_GetLength(label))
        keep_label(on, at, Py_NewRef(label));
    Py_XDECREF(label);
    if (done)
        finish(on, at);
    return done;
}

/* The entry of an element in a dict by numbers: a borrowed reference, or NULL. */
static PyObject *entry_of(PyObject *by_number, const node *at) {
    PyObject *key = PyLong_FromSize_t(at->name);
    PyObject *found = key ? PyDict_GetItemWithError(by_number, key) : NULL;
    Py_XDECREF(key);
    return found;
}

/* Tell Python of an element that occurs a few times on a page. */
static bool visit_other(walk *on, node *at, unsigned kind) {
    if (kind == TITLE && at->parent && at->parent->name == on->svg)
        return true;
    if (kind == META) {
        bool is_left;
        if (!visit_meta(on, at, &is_left))
            return false;
        if (!is_left)
            return true;
    }
    if (kind == LINK || kind == IMAGE || kind == REFERENCE) {
        bool is_left;
        PyObject *source = entry_of(on->sources, at);
        if (source && !visit_source(on, at, kind, source, &is_left))
            return false;
        if (source == NULL && PyErr_Occurred())
            return false;
        if (source && !is_left)
            return true;
    }
    PyObject *attributes = attributes_of(at);
    if (attributes == NULL)
        return false;
    on->scratch.used = 0;
    if ((kind == TITLE || kind == SCRIPT) && !gather(at, &on->scratch, "", false)) {
        Py_DECREF(attributes);
        return PyErr_NoMemory(), false;
    }
    PyObject *text = str_of((span){on->scratch.data, on->scratch.used});
    PyObject *label = text ? PyObject_CallFunction(on->element, "IKOO", kind, (unsigned long long)at->name, attributes,
                                                   text)
                           : NULL;
    Py_DECREF(attributes);
    Py_XDECREF(text);
    if (label == NULL)
        return false;
    if (PyUnicode_Check(label) && PyUnicode_GetLength(label))
        keep_label(on, at, label);
    else
        Py_DECREF(label);
    finish(on, at);
    return true;
}

static bool visit(walk *on, node *at) {
    unsigned kind = at->name < NUMBERS ? on->kinds[at->name] : NOTHING;
    switch (kind) {
    case NOTHING:
        return true;
    case PIECE:
        unwrap(at);
        return true;
    case ANCHOR:
        return visit_anchor(on, at);
    case OUT:
        remove_element(on, at);
        return true;
    case HEADING:
    case TERM:
        return visit_heading(on, at, kind == TERM);
    default:
        return visit_other(on, at, kind);
    }
}

static bool visit_all(walk *on, node *root) {
    buffer found = {0};
    bool done = true;
    for (node *at = root; at && done; at = following(at, root)) {
        if (!is_text(at))
            done = append(&found, (const char *)&at, sizeof at);
    }
    if (!done)
        PyErr_NoMemory();
    node **nodes = (node **)found.data;
    for (size_t left = found.used / sizeof *nodes; left && done; left--)
        done = visit(on, nodes[left - 1]);
    free(found.data);
    return done;
}

/* Return the headings and terms as tuples: number, text, anchors. Call it after the walk, which separates links. */
static PyObject *all_headings(walk *on, const node *body) {
    PyObject *found = PyList_New(0);
    for (size_t each = 0; found && each < on->headings_used; each++) {
        node *at = on->headings[each].node;
        const node *top = at;
        while (top && top != body)
            top = top->parent;
        on->scratch.used = 0;
        PyObject *text = NULL, *row = NULL;
        if (!gather(at, &on->scratch, " ", top != NULL))
            PyErr_NoMemory();
        else
            text = one_line(on, on->scratch.data, on->scratch.used);
        if (text)
            row = Py_BuildValue("(KOO)", (unsigned long long)at->name, text, on->headings[each].anchors);
        int failed = row ? PyList_Append(found, row) : -1;
        Py_XDECREF(text);
        Py_XDECREF(row);
        if (failed)
            Py_CLEAR(found);
    }
    return found;
}

/* Copy bytes, eight at a time, as long as they have only single spaces and no other white space. */
static size_t copy_plain(span text, size_t from, const char *start, char *to) {
    size_t at = from;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    while (text.length - at >= sizeof(uint64_t)) {
        uint64_t bytes;
        memcpy(&bytes, text.data + at, sizeof bytes);
        uint64_t low = bytes & all(0x7f), high = bytes & all(0x80);
        uint64_t control = ~at_least(low, ' ') & ~high & all(0x80);
        uint64_t space = ~at_least(low, ' ' + 1) & at_least(low, ' ') & ~high;
        uint64_t before = space << 8 | (to == start || to[-1] == ' ' ? 0x80 : 0);
        if (control || (space & before) || (high && memchr(text.data + at, 0xc2, sizeof bytes)))
            break;
        memcpy(to, &bytes, sizeof bytes);
        at += sizeof bytes;
        to += sizeof bytes;
    }
#endif
    return at - from;
}

/* Return the text of a page after the walk: a line per element, white space in them normalised. */
static PyObject *whole_text(node *body) {
    buffer whole = {0}, fragment = {0};
    bool done = true;
    for (node *at = following(body, body); at && done; at = following(at, body)) {
        if (!is_text(at) || (at->prev && is_text(at->prev)))
            continue;
        span text = text_of(at);
        if (at->next && is_text(at->next)) {
            fragment.used = 0;
            for (node *part = at; part && is_text(part) && done; part = part->next)
                done = append(&fragment, text_of(part).data, text_of(part).length);
            text = (span){fragment.data, fragment.used};
        }
        size_t blanks = 0; /* as HTML has them */
        while (blanks < text.length && strchr(" \t\n\f\r", text.data[blanks]) && text.data[blanks])
            blanks++;
        if (blanks == text.length)
            continue;
        text = stripped(text);
        if (!done || !reserve(&whole, text.length + 1)) {
            done = false;
            break;
        }
        char *to = whole.data + whole.used;
        for (size_t from = 0; from < text.length; from++) {
            size_t plain = copy_plain(text, from, whole.data, to);
            from += plain;
            to += plain;
            if (from == text.length)
                break;
            char byte = text.data[from];
            if ((unsigned char)byte == 0xc2 && from + 1 < text.length && (unsigned char)text.data[from + 1] == 0xa0) {
                byte = ' ';
                from++;
            } else if (byte == '\n' || byte == '\t' || byte == '\r' || byte == '\f') {
                byte = ' ';
            } else if (byte == 0x1e) {
                byte = '\n';
            }
            if (byte != ' ' || to == whole.data || to[-1] != ' ')
                *to++ = byte;
        }
        *to++ = '\n';
        whole.used = (size_t)(to - whole.data);
    }
    PyObject *text = done ? str_of(stripped((span){whole.data, whole.used})) : PyErr_NoMemory();
    free(whole.data);
    free(fragment.data);
    return text;
}

PyDoc_STRVAR(walk_doc,
             "walk(root, body, kinds, after, inline, names, lists, agents, sources, functions, wiki, with_text)\n--\n\n"
             "Walk over a page; return its headings, last first, and its text.\n\n"
             "``root`` and ``body`` are addresses of nodes, ``names`` the numbers of a, span, section and svg.\n"
             "Links, meta elements and those for ``agents`` are appended to the ``lists``. ``sources`` has the names and\n"
             "attributes of elements with links by their numbers. The ``functions`` are called for other elements that\n"
             "matter, for words that are not ASCII, and for the largest of images whose addresses are not.");

static PyObject *do_walk(PyObject *Py_UNUSED(module), PyObject *args) {
    unsigned long long root, body;
    const char *kinds, *after, *inline_;
    Py_ssize_t kinds_length, after_length, inline_length;
    unsigned long long names[4];
    int with_text;
    walk on = {0};
    if (!PyArg_ParseTuple(args, "KKy#y#y#(KKKK)(O!O!O!)OO!(OOO)O!p", &root, &body, &kinds, &kinds_length, &after, &after_length,
                          &inline_, &inline_length, &names[0], &names[1], &names[2], &names[3], &PyList_Type,
                          &on.links, &PyList_Type, &on.metas, &PyList_Type, &on.robots, &on.agents, &PyDict_Type, &on.sources,
                          &on.element, &on.words, &on.largest, &PyDict_Type, &on.wiki, &with_text))
        return NULL;
    if (!ready || root == 0 || kinds_length != NUMBERS || after_length != NUMBERS || inline_length != NUMBERS) {
        PyErr_SetString(PyExc_ValueError, "not ready, or tables of another size");
        return NULL;
    }
    on.kinds = (const unsigned char *)kinds;
    on.after = (const unsigned char *)after;
    on.inline_ = (const unsigned char *)inline_;
    on.anchor = (uintptr_t)names[0];
    on.span_ = (uintptr_t)names[1];
    on.section = (uintptr_t)names[2];
    on.svg = (uintptr_t)names[3];
    on.name_a = PyUnicode_InternFromString("a");
    on.empty = PyUnicode_FromStringAndSize("", 0);
    on.image_label = Py_XNewRef(on.empty);
    PyObject *headings = NULL, *text = NULL, *result = NULL;
    node *body_node = (node *)(uintptr_t)body;
    if (on.name_a && on.empty && visit_all(&on, (node *)(uintptr_t)root))
        headings = all_headings(&on, body_node);
    if (headings)
        text = with_text && body_node ? whole_text(body_node) : Py_NewRef(on.empty);
    if (text)
        result = PyTuple_Pack(2, headings, text);
    forget_inner(&on);
    for (size_t each = 0; each < on.headings_used; each++)
        Py_DECREF(on.headings[each].anchors);
    free(on.headings);
    free(on.scratch.data);
    Py_XDECREF(headings);
    Py_XDECREF(text);
    Py_XDECREF(on.name_a);
    Py_XDECREF(on.empty);
    Py_XDECREF(on.image_label);
    return result;
}

PyDoc_STRVAR(check_doc,
             "check(library, root)\n--\n\n"
             "Find Lexbor's functions in a library, and return whether its nodes are laid out as expected, by those of\n"
             "a tree that has elements, comments and texts.");

static PyObject *do_check(PyObject *Py_UNUSED(module), PyObject *args) {
    const char *library;
    unsigned long long address;
    if (!PyArg_ParseTuple(args, "sK", &library, &address))
        return NULL;
    ready = false;
    void *lexbor = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
    if (lexbor == NULL)
        Py_RETURN_FALSE;
    for (size_t each = 0; each < sizeof functions / sizeof *functions; each++) {
        void *found = dlsym(lexbor, functions[each].name);
        if (found == NULL)
            Py_RETURN_FALSE;
        memcpy(functions[each].target, &found, sizeof found);
    }
    node *root = (node *)(uintptr_t)address;
    size_t elements = 0, texts = 0;
    for (node *at = root; at; at = following(at, root)) {
        bool same = at->next == next_of(at) && at->prev == prev_of(at) && at->parent == parent_of(at) &&
                    at->first_child == first_child_of(at) && at->last_child == last_child_of(at) &&
                    at->name == tag_of(at) && at->type == type_of(at);
        if (!same)
            Py_RETURN_FALSE;
        elements += at->type == ELEMENT_NODE;
        if (is_text(at)) {
            span expected = {NULL, 0}, own = text_of(at);
            expected.data = (const char *)content_of(at, &expected.length);
            if (at->name != TEXT_TAG || expected.data == NULL || own.data == NULL ||
                expected.length != own.length || memcmp(expected.data, own.data, own.length))
                Py_RETURN_FALSE;
            texts++;
        }
    }
    ready = elements > 3 && texts > 1;
    return PyBool_FromLong(ready);
}

static PyMethodDef methods[] = {
    {"check", do_check, METH_VARARGS, check_doc},
    {"walk", do_walk, METH_VARARGS, walk_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_walk", "The walk over an HTML page, in C.", -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__walk(void) {
    return module_of(&definition);
}
