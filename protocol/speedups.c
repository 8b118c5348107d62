/* What each send does, in C: its request is decoded, its record is built.

   Python does the same in the modules that call this one: for all that is unusual, and where this file is not
   built. A function does what is usual exactly as Python does, and leaves the rest to Python, as its result says.
   tests/protocol/test_speedups.py compares the two, also under AddressSanitizer.
   Bytes come from peers. Each length is compared with what is left before it is used, nothing here calls itself,
   and no function takes more memory than a few times what it was given. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

enum {
    HEAD_BYTES = 8, BINARY_BYTES = 21, /* of a header without fields */
    MOST_HEADER_BYTES = 32767, MOST_TEXT_BYTES = 4096, MOST_PROPERTIES_BYTES = 32767,
    MOST_FORMS = 4, MOST_FIELDS = 16, MOST_NAMES = 32, MOST_ENTRIES = 12, /* before Java makes a map larger */
    FIXED_BYTES = 74, /* of a record without its hosts, topic, body and properties */
};
typedef struct { const char *at; Py_ssize_t size; } Span;
typedef struct { /* One field of a usual header: of a text (0 bits), an integer, or of one text only, its value. */
    Span name, only;
    int bits;
    PyObject *value, *absent; /* ``absent``: its value where it is absent; NULL: that is unusual */
} Field;
typedef struct { /* Of one code; ``by_name``: the names of the last fields, if the class takes them so. */
    long code; PyObject *kind, *by_name; int number; Field fields[MOST_FIELDS];
} Form;
typedef struct { const Form *form; int64_t flag, opaque, version; PyObject *language; } Command;
typedef struct { Span entry, name; uint32_t hash, bucket; } Entry;
static Form forms[MOST_FORMS];
static Span acted_on[MOST_NAMES];
static Py_ssize_t form_count, acted_on_count, most_frame_bytes;
static PyObject *command_kind, *serialize_types, *languages, *crc32;
static unsigned char ordinary[256]; /* the bytes that stand for themselves in a text of JSON */
#define SPAN(literal) ((Span){literal, (Py_ssize_t)sizeof literal - 1})
#define WANT(condition) if (!(condition)) return PyErr_Format(PyExc_TypeError, "%s: wrong arguments", __func__)

static uint32_t read32(const char *from) {
    const unsigned char *at = (const unsigned char *)from;
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}
static int16_t read16(const char *at) { return (int16_t)((unsigned char)at[0] << 8 | (unsigned char)at[1]); }
static char *write16(char *at, int64_t value) { return at[0] = (char)(value >> 8), at[1] = (char)value, at + 2; }
static char *write32(char *at, int64_t value) { return write16(write16(at, value >> 16), value); }
static char *write64(char *at, int64_t value) { return write32(write32(at, value >> 32), value); }
static char *write_span(char *at, Span span) { return (char *)memcpy(at, span.at, (size_t)span.size) + span.size; }
static int equal(Span one, Span other) { return one.size == other.size && !memcmp(one.at, other.at, (size_t)one.size); }

static int utf8_of(PyObject *text, Span *span) {
    return PyUnicode_Check(text) && (span->at = PyUnicode_AsUTF8AndSize(text, &span->size)) != NULL;
}
static PyObject *text_of(Span span) {
    unsigned char all = 0;
    for (Py_ssize_t i = 0; i < span.size; i++) all |= (unsigned char)span.at[i];
    PyObject *text = all > 127 ? PyUnicode_DecodeUTF8(span.at, span.size, NULL) : PyUnicode_New(span.size, 127);
    if (text && all <= 127) memcpy(PyUnicode_DATA(text), span.at, (size_t)span.size);
    return text;
}

/* Whether there is an error: half a character, which Python is left to look at, is none. */
static int has_failed(void) {
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_UnicodeError)) PyErr_Clear();
    return PyErr_Occurred() != NULL;
}
static PyObject *to_python(void) { return has_failed() ? NULL : Py_NewRef(Py_None); }

/* An integer as Java writes it: without plus, and without zeros in front. */
static int read_integer(Span text, int bits, int64_t *found) {
    int negative = text.size > 0 && *text.at == '-';
    const char *at = text.at + negative, *end = text.at + text.size;
    uint64_t number = 0, least = (uint64_t)1 << (bits - 1);
    if (end - at < 1 || end - at > 19 || (*at == '0' && text.size > 1)) return 0;
    for (; at < end && *at >= '0' && *at <= '9'; at++) number = number * 10 + (uint64_t)(*at - '0'); /* < 10**19 */
    *found = (int64_t)(negative ? 0 - number : number);
    return at == end && number <= least - !negative;
}

/* Set the value of a field; 0 if it is unusual. Most come in the order of the form. */
static int take_field(const Form *form, PyObject **values, int *next, Span name, Span text) {
    int at = *next, left = form->number;
    int64_t number;
    for (; left && !equal(form->fields[at].name, name); left--) at = at + 1 < form->number ? at + 1 : 0;
    if (!left || values[at]) return 0;
    const Field *field = &form->fields[at];
    *next = at + 1 < form->number ? at + 1 : 0;
    if (field->value) {
        if (equal(text, field->only)) values[at] = Py_NewRef(field->value);
    } else if (!field->bits) {
        values[at] = text_of(text);
    } else if (read_integer(text, field->bits, &number)) {
        values[at] = PyLong_FromLongLong(number);
    }
    return values[at] != NULL;
}

/* Read a text of JSON, and move behind it; one with escapes is written to ``plain``. The zero behind
   the bytes of an object is not ordinary. */
static int read_text(const char **at, const char *end, char *plain, Span *found) {
    const char *p = *at;
    if (p >= end || *p++ != '"') return 0;
    found->at = p;
    while (ordinary[(unsigned char)*p]) p++;
    found->size = p - found->at;
    if (p < end && *p == '\\') {
        if (found->size > MOST_TEXT_BYTES) return 0;
        memcpy(plain, found->at, (size_t)found->size);
        for (found->at = plain; p < end && *p != '"'; found->size++) {
            char c = *p++;
            if (found->size == MOST_TEXT_BYTES || !(c == '\\' || ordinary[(unsigned char)c])) return 0;
            if (c == '\\') { /* as the \u0001 and \u0002 in properties */
                if (end - p < 5 || memcmp(p, "u000", 4) || p[4] < '1' || p[4] > '9') return 0;
                c = (char)(p[4] - '0'), p += 5;
            }
            plain[found->size] = c;
        }
    }
    *at = p + 1;
    return p < end && *p == '"';
}

static int read_json_integer(const char **at, const char *end, int64_t *found) {
    Span text = {*at, 0};
    while (*at < end && (**at == '-' || (unsigned)(**at - '0') <= 9)) (*at)++;
    text.size = *at - text.at;
    return read_integer(text, 32, found);
}

static const Form *form_of(int64_t code) {
    Py_ssize_t i = 0;
    while (i < form_count && forms[i].code != code) i++;
    return i < form_count ? &forms[i] : NULL;
}
static PyObject *language_of(PyObject *key) {
    PyObject *found = key ? PyDict_GetItemWithError(languages, key) : NULL;
    Py_XDECREF(key);
    return found;
}

/* As clients write it: {"code":310,"extFields":{"a":"group"},"flag":0} without spaces. */
static int read_json(const char *at, const char *end, Command *command, PyObject **values) {
    char plain[MOST_TEXT_BYTES];
    Span name, text;
    int64_t code, *number;
    int next = 0, extended = 0;
    if (end - at < 8 || memcmp(at, "{\"code\":", 8)) return 0;
    at += 8;
    if (!read_json_integer(&at, end, &code) || !(command->form = form_of(code))) return 0;
    while (at < end && *at == ',') {
        at++;
        if (!read_text(&at, end, plain, &name) || name.at == plain) return 0;
        if (at >= end || *at++ != ':') return 0;
        number = equal(name, SPAN("flag")) ? &command->flag :
                 equal(name, SPAN("opaque")) ? &command->opaque :
                 equal(name, SPAN("version")) ? &command->version : NULL;
        if (number) {
            if (!read_json_integer(&at, end, number)) return 0;
        } else if (equal(name, SPAN("extFields"))) {
            if (extended++ || at >= end || *at != '{') return 0;
            do {
                at++;
                if (!read_text(&at, end, plain, &name) || name.at == plain) return 0;
                if (at >= end || *at++ != ':' || !read_text(&at, end, plain, &text)) return 0;
                if (!take_field(command->form, values, &next, name, text)) return 0;
            } while (at < end && *at == ',');
            if (at >= end || *at++ != '}') return 0;
        } else {
            if (!read_text(&at, end, plain, &text)) return 0;
            if (equal(name, SPAN("language"))) {
                if (!(command->language = language_of(text_of(text)))) return 0;
            } else if (!equal(name, SPAN("serializeTypeCurrentRPC")) || !equal(text, SPAN("JSON"))) {
                return 0;
            }
        }
    }
    return extended && command->language && end - at == 1 && *at == '}';
}

static int read_binary(const char *at, const char *end, Command *command, PyObject **values) {
    int next = 0;
    if (end - at < BINARY_BYTES || read32(at + 13) /* of a remark */ ||
        read32(at + 17) != (uint32_t)(end - at - BINARY_BYTES) || !(command->form = form_of(read16(at))) ||
        !(command->language = language_of(PyLong_FromLong((signed char)at[2]))))
        return 0;
    command->version = read16(at + 3);
    command->opaque = (int32_t)read32(at + 5), command->flag = (int32_t)read32(at + 9);
    for (at += BINARY_BYTES; at < end;) {
        if (end - at < 2) return 0;
        Span name = {at + 2, read16(at)};
        if (name.size < 1 || end - name.at < name.size + 4) return 0;
        at = name.at + name.size + 4;
        uint32_t size = read32(at - 4);
        if (!size || size > (size_t)(end - at)) return 0;
        if (!take_field(command->form, values, &next, name, (Span){at, (Py_ssize_t)size})) return 0;
        at += size;
    }
    return 1;
}

/* Return the command of a whole frame; NULL if it is unusual, or with an error. */
static PyObject *read_frame(const char *at, const char *header_end, const char *end) {
    PyObject *values[MOST_FIELDS] = {NULL}, *found = NULL;
    Command command = {0};
    unsigned type = (unsigned char)at[4];
    int ok = type < 2 && (type ? read_binary : read_json)(at + HEAD_BYTES, header_end, &command, values);
    const Form *form = command.form;
    for (int i = 0; ok && i < form->number; i++) {
        if (!values[i]) values[i] = Py_XNewRef(form->fields[i].absent);
        ok = values[i] != NULL;
    }
    if (ok) { /* in the order of RemotingCommand */
        size_t number = (size_t)(form->number - PyTuple_GET_SIZE(form->by_name));
        PyObject *args[] = {
            PyLong_FromLong(form->code), PyDict_New(), PyBytes_FromStringAndSize(header_end, end - header_end),
            PyLong_FromLongLong(command.flag), PyLong_FromLongLong(command.opaque), Py_NewRef(Py_None),
            Py_NewRef(command.language), PyLong_FromLongLong(command.version),
            Py_NewRef(PyTuple_GET_ITEM(serialize_types, type)),
            PyObject_Vectorcall(form->kind, values, number, form->by_name),
        };
        for (int i = 0; i < 10; i++) ok = ok && args[i];
        if (ok) found = PyObject_Vectorcall(command_kind, args, 10, NULL);
        for (int i = 0; i < 10; i++) Py_XDECREF(args[i]);
    }
    for (int i = 0; i < MOST_FIELDS; i++) Py_XDECREF(values[i]);
    return found;
}

static PyObject *usual_frames(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    char *data; Py_ssize_t size, start;
    WANT(count == 3 && PyList_Check(args[2]) && !PyBytes_AsStringAndSize(args[0], &data, &size) &&
         (start = PyLong_AsSsize_t(args[1])) >= 0);
    while (size - start >= HEAD_BYTES) {
        const char *at = data + start, *header = at + HEAD_BYTES;
        uint32_t length = read32(at), header_bytes = read32(at + 4) & 0xFFFFFF;
        if (length < 4 || length > (size_t)most_frame_bytes - 4 || length > (size_t)(size - start - 4) ||
            header_bytes > length - 4 || header_bytes > MOST_HEADER_BYTES)
            break;
        PyObject *command = read_frame(at, header + header_bytes, at + 4 + length);
        if (!command || PyList_Append(args[2], command)) {
            Py_XDECREF(command);
            if (has_failed()) return NULL;
            break;
        }
        Py_DECREF(command);
        start += 4 + (Py_ssize_t)length;
    }
    return PyLong_FromSsize_t(start);
}

/* As String#hashCode of ASCII; another character leaves 0 in ``ascii``. */
static uint32_t java_hash(Span text, int *ascii) {
    uint32_t hash = 0;
    for (Py_ssize_t i = 0; i < text.size; i++) hash = hash * 31 + (unsigned char)text.at[i];
    for (Py_ssize_t i = 0; i < text.size; i++) *ascii &= !(text.at[i] & 0x80);
    return hash;
}

/* Add the entries of a text; 0 if there are two of one name, or one on which brokers act. */
static int read_entries(Span text, Entry *entries, int *number, Py_ssize_t forbidden) {
    const char *at = text.at, *end = at + text.size, *stop, *between;
    for (; at < end; at = stop + 1, (*number)++) {
        Entry *entry = &entries[*number];
        int ascii = 1;
        if (!(stop = memchr(at, 2, (size_t)(end - at)))) stop = end;
        between = memchr(at, 1, (size_t)(stop - at));
        if (!between || between == at || between + 1 == stop || *number == MOST_ENTRIES) return 0;
        entry->entry = (Span){at, stop - at}, entry->name = (Span){at, between - at};
        entry->hash = java_hash(entry->name, &ascii);
        for (int i = 0; i < *number; i++) ascii &= entries[i].hash != entry->hash;
        for (Py_ssize_t i = 0; i < forbidden; i++) ascii &= !equal(entry->name, acted_on[i]);
        if (!ascii) return 0;
    }
    return 1;
}

static PyObject *plain_properties(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    Span own, added, without, id = {"", 0};
    Entry entries[MOST_ENTRIES], moved;
    int number = 0, keys = 0, waits = 1, ascii = 1, ends, at;
    uint32_t code = 0;
    Py_ssize_t size = 0;
    WANT(count == 5);
    long buckets = PyLong_AsLong(args[3]);
    if ((ends = PyObject_IsTrue(args[4])) < 0 || (buckets == -1 && PyErr_Occurred())) return NULL;
    if (!utf8_of(args[0], &own) || !utf8_of(args[1], &added) || !utf8_of(args[2], &without) ||
        !read_entries(own, entries, &number, acted_on_count) || !read_entries(added, entries, &number, 0))
        return to_python();
    for (int i = 0; i < number; i++) {
        Span name = entries[i].name, all = entries[i].entry;
        Span value = {name.at + name.size + 1, all.size - name.size - 1};
        if (equal(name, SPAN("UNIQ_KEY"))) id = value;
        if (equal(name, SPAN("KEYS"))) keys = 1;
        if (equal(name, SPAN("TAGS"))) code = java_hash(value, &ascii);
        if (equal(name, SPAN("WAIT"))) waits = equal(value, SPAN("true")) ? 1 : equal(value, SPAN("false")) ? 0 : -1;
        size += all.size + 1;
        moved = entries[i]; /* put it where a HashMap has it */
        moved.bucket = (moved.hash ^ moved.hash >> 16) & (uint32_t)(buckets - 1);
        for (at = i; at && entries[at - 1].bucket > moved.bucket; at--) entries[at] = entries[at - 1];
        entries[at] = moved;
    }
    if (!ascii || waits < 0 || size > MOST_PROPERTIES_BYTES) return to_python();
    PyObject *stored = PyBytes_FromStringAndSize(NULL, size);
    if (!stored) return NULL;
    char *start = PyBytes_AS_STRING(stored), *p = start;
    for (int i = 0; i < number; i++) {
        if (equal(entries[i].name, without)) continue;
        p = write_span(p, entries[i].entry);
        *p++ = 2;
    }
    if (!ends && p > start) p--;
    if (_PyBytes_Resize(&stored, p - start)) return NULL;
    PyObject *hash = PyLong_FromLong((int32_t)code), *text = text_of(id), *found = NULL;
    if (hash && text)
        found = PyTuple_Pack(5, stored, hash, text, keys ? Py_True : Py_False, waits ? Py_True : Py_False);
    Py_DECREF(stored), Py_XDECREF(hash), Py_XDECREF(text);
    return found ? found : to_python();
}

/* Return a record, its entry in the queue, and its offset id. */
static PyObject *record(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    enum { BODY, PROPERTIES, TOPIC, BORN, STORE, PIECES };
    enum { CODE, QUEUE_ID, FLAG, QUEUE_OFFSET, OFFSET, SYS_FLAG, BORN_MS, STORED_MS, TIMES, PREPARED, NUMBERS };
    static const int int32s = 1 << QUEUE_ID | 1 << FLAG | 1 << SYS_FLAG | 1 << TIMES;
    int64_t number[NUMBERS], size = FIXED_BYTES;
    Span piece[PIECES];
    WANT(count == PIECES + NUMBERS);
    for (int i = 0; i < PIECES; i++) {
        WANT(PyBytes_Check(args[i]));
        piece[i] = (Span){PyBytes_AS_STRING(args[i]), PyBytes_GET_SIZE(args[i])};
        size += piece[i].size;
    }
    for (int i = 0; i < NUMBERS; i++) {
        number[i] = PyLong_AsLongLong(args[PIECES + i]);
        if (number[i] == -1 && PyErr_Occurred()) return NULL;
        if (int32s >> i & 1 && number[i] != (int32_t)number[i]) size = INT64_MAX;
    }
    WANT(size <= INT32_MAX && piece[PROPERTIES].size <= MOST_PROPERTIES_BYTES);
    PyObject *built = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size), *found = NULL;
    PyObject *unit = PyBytes_FromStringAndSize(NULL, 20);
    PyObject *id = PyUnicode_New(2 * (piece[STORE].size + 8), 127);
    PyObject *checksum = PyObject_Vectorcall(crc32, args, 1, NULL); /* of the body */
    uint64_t crc = checksum ? PyLong_AsUnsignedLongLongMask(checksum) : 0;
    if (built && unit && id && checksum) {
        char *at = write32(write32(PyBytes_AS_STRING(built), size), 0xDAA320A7), *hex = PyUnicode_DATA(id);
        at = write32(at, (int64_t)(crc & 0x7FFFFFFF));
        at = write32(write32(at, number[QUEUE_ID]), number[FLAG]);
        at = write64(write64(at, number[QUEUE_OFFSET]), number[OFFSET]);
        at = write_span(write64(write32(at, number[SYS_FLAG]), number[BORN_MS]), piece[BORN]);
        at = write_span(write64(at, number[STORED_MS]), piece[STORE]);
        at = write64(write32(at, number[TIMES]), number[PREPARED]);
        at = write_span(write32(at, piece[BODY].size), piece[BODY]);
        at = write_span(at, piece[TOPIC]); /* behind its length */
        write_span(write16(at, piece[PROPERTIES].size), piece[PROPERTIES]);
        at = PyBytes_AS_STRING(unit);
        write64(write32(write64(at, number[OFFSET]), size), number[CODE]);
        for (Py_ssize_t i = 0; i < piece[STORE].size + 8; i++) {
            char c = i < piece[STORE].size ? piece[STORE].at[i] : at[i - piece[STORE].size];
            *hex++ = "0123456789ABCDEF"[c >> 4 & 15], *hex++ = "0123456789ABCDEF"[c & 15];
        }
        found = PyTuple_Pack(3, built, unit, id);
    }
    Py_XDECREF(built), Py_XDECREF(unit), Py_XDECREF(id), Py_XDECREF(checksum);
    return found;
}

/* Take what Python knows (protocol/native.py). It stays until the process ends. */
static PyObject *learn(PyObject *module, PyObject *args) {
    PyObject *all, *names, *fields;
    WANT(PyArg_ParseTuple(args, "OOO!O!O!O!n", &command_kind, &crc32, &PyDict_Type, &languages, &PyTuple_Type,
                          &serialize_types, &PyTuple_Type, &all, &PyTuple_Type, &names, &most_frame_bytes) &&
         PyTuple_GET_SIZE(all) <= MOST_FORMS && PyTuple_GET_SIZE(names) <= MOST_NAMES &&
         PyTuple_GET_SIZE(serialize_types) == 2);
    Py_INCREF(args);
    for (acted_on_count = 0; acted_on_count < PyTuple_GET_SIZE(names); acted_on_count++)
        WANT(utf8_of(PyTuple_GET_ITEM(names, acted_on_count), &acted_on[acted_on_count]));
    for (form_count = 0; form_count < PyTuple_GET_SIZE(all); form_count++) {
        Form *form = &forms[form_count];
        WANT(PyArg_ParseTuple(PyTuple_GET_ITEM(all, form_count), "lOO!O!", &form->code, &form->kind, &PyTuple_Type,
                              &form->by_name, &PyTuple_Type, &fields));
        for (form->number = 0; form->number < PyTuple_GET_SIZE(fields); form->number++) {
            Field *field = &form->fields[form->number];
            WANT(form->number < MOST_FIELDS &&
                 PyArg_ParseTuple(PyTuple_GET_ITEM(fields, form->number), "s#iOO", &field->name.at,
                                  &field->name.size, &field->bits, &field->value, &field->absent));
            if (field->value == Py_None) field->value = NULL;
            if (field->absent == Py_Ellipsis) field->absent = NULL;
            WANT(!field->value || utf8_of(field->value, &field->only));
        }
    }
    Py_RETURN_NONE;
}

#define FAST(function) {#function, (PyCFunction)(void (*)(void))function, METH_FASTCALL, NULL}
static PyMethodDef functions[] = {
    {"learn", learn, METH_VARARGS, NULL}, FAST(usual_frames), FAST(plain_properties), FAST(record), {0}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "speedups", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_speedups(void) {
    for (int i = 0; i < 256; i++) ordinary[i] = i >= ' ' && i != '"' && i != '\\';
    return PyModule_Create(&definition);
}
