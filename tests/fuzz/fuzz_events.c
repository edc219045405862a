/* fuzz_events.c - the grammar of -e; slow, since unknown names are looked up in sysfs and tracefs.
 */
#include "share/compat.h"

#include "collect/events.h"
#include "share/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct event_list events = {0};
	struct err err;
	char *text;

	if (size > 512)
		return 0;
	text = mem_strndup((const char *)bytes, size);
	events_parse(&events, text, &err);
	event_list_release(&events);
	free(text);
	return 0;
}
