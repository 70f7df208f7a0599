/* SPDX-License-Identifier: Apache-2.0
 *
 * Files compressed by gzip (RFC 1952), read whole and written as a stream.
 */
#include "config.h"

#include "core/matrix/matrix_format.h"
#include "util/bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

bool gzip_probe(const char *content, size_t length)
{
    return length >= 2 && (unsigned char)content[0] == 0x1f && (unsigned char)content[1] == 0x8b;
}

static enum esp_status tell(const z_stream *stream, const char *name, int code, struct esp_error *error)
{
    if (code == Z_MEM_ERROR)
        return error_no_memory(error, "what a compressed file holds");
    if (code == Z_OK || code == Z_BUF_ERROR)
        return error_set(error, ESP_SYNTAX,
                         "%s: byte %lu: expected more of the compressed content, found the end of the file",
                         name, stream->total_in);
    return error_set(error, ESP_SYNTAX, "%s: byte %lu: expected compressed content, found damage (%s)", name,
                     stream->total_in, stream->msg ? stream->msg : "gzip");
}

/* Inflates one member after the other, because gzip files may be concatenated. */
static int inflate_all(z_stream *stream, struct scratch *text, size_t *used, uint64_t limit,
                       const struct gzip_watch *watch, const char *input, size_t length)
{
    size_t taken = 0;
    int code = Z_OK;
    while (code == Z_OK || (code == Z_STREAM_END && taken < length)) {
        if (code == Z_STREAM_END && inflateReset(stream) != Z_OK)
            return Z_STREAM_ERROR;
        if (*used == text->size && (text->size >= limit || !scratch_grow(text, 2 * text->size)))
            return text->size >= limit ? Z_NEED_DICT : Z_MEM_ERROR;
        size_t chunk = length - taken < 1u << 30 ? length - taken : 1u << 30;
        size_t room = text->size - *used < 1u << 30 ? text->size - *used : 1u << 30;
        stream->next_in = (unsigned char *)input + taken;
        stream->avail_in = (unsigned)chunk;
        stream->next_out = (unsigned char *)text->memory + *used;
        stream->avail_out = (unsigned)room;
        code = inflate(stream, Z_NO_FLUSH);
        taken += chunk - stream->avail_in;
        const size_t grown = room - stream->avail_out;
        if (watch && !watch->fits(watch->arg, text->memory + *used, grown))
            return Z_NEED_DICT;
        *used += grown;
        if (code == Z_BUF_ERROR && *used == text->size)
            code = Z_OK;
    }
    return code;
}

size_t gzip_begin(const char *content, size_t length, char *start, size_t size)
{
    z_stream stream = {.next_in = (unsigned char *)content,
                       .avail_in = (unsigned)(length < 1u << 30 ? length : 1u << 30),
                       .next_out = (unsigned char *)start,
                       .avail_out = (unsigned)size};
    if (inflateInit2(&stream, 15 + 16) != Z_OK)
        return 0;
    inflate(&stream, Z_SYNC_FLUSH);
    inflateEnd(&stream);
    return size - stream.avail_out;
}

enum esp_status gzip_expand(const char *content, size_t length, const char *name, uint64_t max_bytes,
                            const struct gzip_watch *watch, struct scratch *text, size_t *expanded,
                            struct esp_error *error)
{
    z_stream stream = {0};
    size_t used = 0;
    char limit[BYTES_TEXT];
    if (!scratch_grow(text, 1 << 16) || inflateInit2(&stream, 15 + 16) != Z_OK) {
        scratch_clear(text);
        return error_no_memory(error, "what a compressed file holds");
    }
    int code = inflate_all(&stream, text, &used, max_bytes, watch, content, length);
    enum esp_status status = ESP_OK;
    if (code == Z_NEED_DICT)
        status = error_set(error, ESP_LIMIT,
                           "%s: the compressed content has more than the %s that such a matrix takes at most",
                           name, bytes_text(max_bytes, limit));
    else if (code != Z_STREAM_END)
        status = tell(&stream, name, code, error);
    inflateEnd(&stream);
    if (status != ESP_OK)
        scratch_clear(text);
    *expanded = used;
    return status;
}

static ssize_t write_compressed(void *cookie, const char *buffer, size_t size)
{
    int written = gzwrite(cookie, buffer, size > 1u << 30 ? 1u << 30 : (unsigned)size);
    if (written > 0)
        return written;
    int code;
    gzerror(cookie, &code);
    if (code != Z_ERRNO)
        errno = EIO;
    return 0; /* means an error in a stream */
}

static int close_compressed(void *cookie)
{
    int code = gzclose(cookie);
    if (code != Z_OK && code != Z_ERRNO)
        errno = EIO;
    return code == Z_OK ? 0 : -1;
}

FILE *gzip_stream(int fd)
{
    gzFile file = gzdopen(fd, "wb");
    if (!file)
        return NULL;
    FILE *stream =
        fopencookie(file, "w", (cookie_io_functions_t){.write = write_compressed, .close = close_compressed});
    if (!stream)
        gzclose(file);
    return stream;
}
