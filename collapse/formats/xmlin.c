#include "share/compat.h"
#include "collapse/formats/xmlin.h"

#include <libxml/xmlreader.h>

#define OPTIONS (XML_PARSE_NONET | XML_PARSE_NOCDATA)

static int read_more(void *ctx, char *to, int size)
{
	struct xmlin *xml = ctx;
	struct err err;

	return (int)input_read(xml->in, to, (size_t)size, &err);
}

static void keep_error(void *ctx, const char *message, xmlParserSeverities severity UNUSED,
                       xmlTextReaderLocatorPtr where)
{
	struct xmlin *xml = ctx;

	if (*xml->bad)
		return;
	xml->bad_line = xmlTextReaderLocatorLineNumber(where);
	snprintf(xml->bad, sizeof(xml->bad), "%s", message);
	xml->bad[strcspn(xml->bad, "\n")] = 0;
}

static int opened(struct xmlin *xml, struct err *err)
{
	if (!xml->reader)
		return err_set(err, "libxml2 cannot read this");
	xmlTextReaderSetErrorHandler(xml->reader, keep_error, xml);
	return 0;
}

int xmlin_open(struct xmlin *xml, struct input *in, struct err *err)
{
	*xml = (struct xmlin){.in = in, .name = ""};
	xml->reader = xmlReaderForIO(read_more, NULL, xml, NULL, NULL, OPTIONS);
	return opened(xml, err);
}

int xmlin_open_bytes(struct xmlin *xml, struct slice bytes, const char *name, struct err *err)
{
	if (bytes.size > INT32_MAX)
		return err_set(err, "'%s' is larger than the 2 GiB that are read as XML", name);
	*xml = (struct xmlin){.name = ""};
	xml->reader = xmlReaderForMemory(bytes.at, (int)bytes.size, NULL, NULL, OPTIONS);
	return opened(xml, err);
}

void xmlin_close(struct xmlin *xml)
{
	xmlFreeTextReader(xml->reader);
	buf_release(&xml->text);
	xml->reader = NULL;
}

int xmlin_next(struct xmlin *xml)
{
	for (;;) {
		int result = xml->has_pending ? xml->pending : xmlTextReaderRead(xml->reader);
		int type;

		xml->has_pending = false;
		if (result <= 0) {
			if (result < 0 && !*xml->bad)
				snprintf(xml->bad, sizeof(xml->bad), "not well formed");
			return result;
		}
		type = xmlTextReaderNodeType(xml->reader);
		if (type != XML_READER_TYPE_ELEMENT && type != XML_READER_TYPE_END_ELEMENT)
			continue;
		xml->name = (const char *)xmlTextReaderConstName(xml->reader);
		xml->is_end = type == XML_READER_TYPE_END_ELEMENT;
		xml->is_empty = !xml->is_end && xmlTextReaderIsEmptyElement(xml->reader) == 1;
		return 1;
	}
}

struct slice xmlin_attribute(const struct xmlin *xml, const char *name)
{
	struct slice value = {0};

	if (xmlTextReaderMoveToAttribute(xml->reader, (const xmlChar *)name) == 1) {
		value.at = (const char *)xmlTextReaderConstValue(xml->reader);
		value.size = value.at ? strlen(value.at) : 0;
		xmlTextReaderMoveToElement(xml->reader);
	}
	return value;
}

struct slice xmlin_text(struct xmlin *xml)
{
	buf_reset(&xml->text);
	while (!xml->is_empty && !xml->has_pending) {
		const xmlChar *value;
		int type;

		xml->pending = xmlTextReaderRead(xml->reader);
		type = xml->pending > 0 ? xmlTextReaderNodeType(xml->reader) : 0;
		if (type != XML_READER_TYPE_TEXT && type != XML_READER_TYPE_CDATA &&
		    type != XML_READER_TYPE_SIGNIFICANT_WHITESPACE) {
			xml->has_pending = true;
			break;
		}
		value = xmlTextReaderConstValue(xml->reader);
		buf_string(&xml->text, value ? (const char *)value : "");
	}
	return (struct slice){xml->text.size ? xml->text.at : "", xml->text.size};
}
