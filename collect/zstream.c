#include "share/compat.h"
#include "collect/zstream.h"

#include "collect/library.h"
#include "share/mem.h"

#include <dlfcn.h>

struct in_buffer {
	const void *src;
	size_t size, pos;
};

struct out_buffer {
	void *dst;
	size_t size, pos;
};

struct zstream {
	void *library, *context;
	size_t (*compress)(void *context, struct out_buffer *out, struct in_buffer *in);
	size_t (*flush)(void *context, struct out_buffer *out);
	size_t (*release)(void *context);
	unsigned int (*is_error)(size_t code);
};

struct zstream *zstream_new(int level, struct err *err)
{
	struct zstream *stream = mem_alloc(sizeof(*stream));
	void *(*create)(void) = NULL;
	size_t (*init)(void *, int) = NULL;

	*stream = (struct zstream){.library = library_open("libzstd.so.1")};
	if (stream->library) {
		create = dlsym(stream->library, "ZSTD_createCStream");
		init = dlsym(stream->library, "ZSTD_initCStream");
		stream->compress = dlsym(stream->library, "ZSTD_compressStream");
		stream->flush = dlsym(stream->library, "ZSTD_flushStream");
		stream->release = dlsym(stream->library, "ZSTD_freeCStream");
		stream->is_error = dlsym(stream->library, "ZSTD_isError");
	}
	if (create && init && stream->compress && stream->flush && stream->release &&
	    stream->is_error)
		stream->context = create();
	if (stream->context && !stream->is_error(init(stream->context, level)))
		return stream;
	zstream_free(stream);
	err_set(err,
	        "-z needs the library libzstd.so.1, which cannot be loaded here (a static program "
	        "loads none); install it, or pipe the records through zstd");
	return NULL;
}

void zstream_free(struct zstream *stream)
{
	if (!stream)
		return;
	if (stream->context)
		stream->release(stream->context);
	if (stream->library)
		dlclose(stream->library);
	free(stream);
}

int zstream_add(struct zstream *stream, struct buf *out, const void *bytes, size_t size)
{
	struct in_buffer in = {bytes, size, 0};
	size_t left;

	do {
		struct out_buffer piece;

		buf_reserve(out, size + 1024);
		piece = (struct out_buffer){out->at + out->size, out->capacity - out->size, 0};
		left = in.pos < in.size ? stream->compress(stream->context, &piece, &in) : 0;
		if (!stream->is_error(left) && in.pos == in.size)
			left = stream->flush(stream->context, &piece);
		if (stream->is_error(left))
			return -1;
		out->size += piece.pos;
	} while (left || in.pos < in.size);
	return 0;
}
