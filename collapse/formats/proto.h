/*
 * proto.h - reading protocol buffers field by field.
 *
 * Source: protobuf.dev, "Encoding": a field is a varint of number << 3 | wire
 * type, and a varint (0), 8 bytes (1), a length and its bytes (2) or 4 bytes (5).
 */
#ifndef COLLAPSE_PROTO_H
#define COLLAPSE_PROTO_H

#include "share/compat.h"

struct proto {
	const uint8_t *at, *end;
	bool is_bad; /* set for good by the first fault */
};

struct proto_field {
	uint32_t number;
	uint8_t wire;
	uint64_t value;     /* wire types 0, 1, 5 */
	struct slice bytes; /* wire type 2, borrowed; else empty */
};

static inline struct proto proto_of(struct slice bytes)
{
	return (struct proto){(const uint8_t *)bytes.at,
	                      bytes.size ? (const uint8_t *)bytes.at + bytes.size :
	                                   (const uint8_t *)bytes.at,
	                      false};
}

/* The next varint; 0, and bad, where it is cut or longer than ten bytes. */
uint64_t proto_varint(struct proto *proto);

/* False at the end, or at a fault. */
bool proto_next(struct proto *proto, struct proto_field *field);

/*
 * Repeated numbers come packed, or one field each. True with each number of
 * the field; *rest is the state: all zero before the first call.
 */
bool proto_number(const struct proto_field *field, struct proto *rest, uint64_t *value);

#endif
