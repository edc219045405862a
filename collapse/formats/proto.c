#include "share/compat.h"
#include "collapse/formats/proto.h"

uint64_t proto_varint(struct proto *proto)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 70 && proto->at < proto->end; shift += 7) {
		uint8_t byte = *proto->at++;

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	proto->is_bad = true;
	proto->at = proto->end;
	return 0;
}

static bool fixed(struct proto *proto, size_t size, uint64_t *value)
{
	if ((size_t)(proto->end - proto->at) < size)
		return false;
	*value = 0;
	for (size_t i = 0; i < size; i++)
		*value |= (uint64_t)proto->at[i] << 8 * i;
	proto->at += size;
	return true;
}

bool proto_next(struct proto *proto, struct proto_field *field)
{
	uint64_t key, size;
	bool is_whole = true;

	if (proto->at == proto->end)
		return false;
	key = proto_varint(proto);
	field->number = (uint32_t)(key >> 3);
	field->wire = key & 7;
	field->value = 0;
	field->bytes = (struct slice){"", 0};
	switch (field->wire) {
	case 0:
		field->value = proto_varint(proto);
		break;
	case 1:
		is_whole = fixed(proto, 8, &field->value);
		break;
	case 2:
		size = proto_varint(proto);
		is_whole = size <= (uint64_t)(proto->end - proto->at);
		if (is_whole) {
			field->bytes = (struct slice){(const char *)proto->at, size};
			proto->at += size;
		}
		break;
	case 5:
		is_whole = fixed(proto, 4, &field->value);
		break;
	default:
		is_whole = false;
	}
	if (!is_whole || proto->is_bad || !field->number) {
		proto->is_bad = true;
		proto->at = proto->end;
		return false;
	}
	return true;
}

bool proto_number(const struct proto_field *field, struct proto *rest, uint64_t *value)
{
	if (!rest->end) {
		if (field->wire != 2) {
			static const uint8_t none;

			rest->at = rest->end = &none;
			*value = field->value;
			return true;
		}
		if (!field->bytes.size)
			return false;
		*rest = proto_of(field->bytes);
	}
	if (rest->at == rest->end)
		return false;
	*value = proto_varint(rest);
	return !rest->is_bad;
}
