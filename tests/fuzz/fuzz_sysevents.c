/* fuzz_sysevents.c - what sysfs says of a PMU: a format's bits, the terms of an event. */
#include "collect/sysevents.c"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct perf_event_attr attr = {0};
	uint64_t value;
	struct err err;
	char *text;

	if (size < sizeof(value) || size > 256)
		return 0;
	memcpy(&value, bytes, sizeof(value));
	text = mem_strndup((const char *)bytes + sizeof(value), size - sizeof(value));
	spread_bits(&attr, text, value);
	attr = (struct perf_event_attr){0};
	apply_terms(&attr, "none", text, 0, &err);
	free(text);
	return 0;
}
