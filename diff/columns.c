#include "share/compat.h"
#include "diff/columns.h"

#include "share/buf.h"

weight_fx columns_sum(const struct join *join, size_t stack, enum join_side side)
{
	const weight_fx *weights = join_weights(join, stack);
	weight_fx sum = 0;

	for (size_t i = 0; i < join->nr_runs; i++)
		if (join->runs[i].side == side)
			sum += weights[i];
	return sum;
}

static bool same_everywhere(const struct join *join, const char *key, const char *value)
{
	for (size_t i = 0; i < join->nr_runs; i++) {
		const char *other = folded_header_get(&join->runs[i].header, key);

		if (!other || strcmp(other, value) != 0)
			return false;
	}
	return true;
}

static void carry_field(const struct join *join, const char *key, const char *value,
                        struct folded_header *header)
{
	static const char *const sides[] = {"before", "after"};

	if (same_everywhere(join, key, value)) {
		folded_header_set(header, key, "%s", value);
		return;
	}
	for (int side = JOIN_BEFORE; side <= JOIN_AFTER; side++) {
		struct buf values = {0};
		char *name = mem_printf("%s %s", sides[side], key);

		for (size_t i = 0; i < join->nr_runs; i++) {
			const char *other = folded_header_get(&join->runs[i].header, key);

			if (join->runs[i].side != (enum join_side)side)
				continue;
			buf_string(&values, values.size ? ", " : "");
			buf_string(&values, other ? other : "not known");
		}
		folded_header_set(header, name, "%s", buf_text(&values));
		free(name);
		buf_release(&values);
	}
}

static void write_header(const struct join *join, const struct scale *scale, struct output *out)
{
	struct folded_header header = {0};
	size_t nr_runs[2] = {0, 0};
	char totals[2][WEIGHT_TEXT];

	folded_header_set(&header, "columns", "before after");
	for (size_t i = 0; i < join->nr_runs; i++)
		nr_runs[join->runs[i].side]++;
	for (int side = JOIN_BEFORE; side <= JOIN_AFTER; side++)
		weight_format(totals[side], scale->totals[side]);
	folded_header_set(&header, "totals", "%s before, %s after", totals[JOIN_BEFORE],
	                  totals[JOIN_AFTER]);
	folded_header_set(&header, "factor", "%.12g times before", scale_factor(scale));
	folded_header_set(&header, "runs", "%zu before, %zu after", nr_runs[JOIN_BEFORE],
	                  nr_runs[JOIN_AFTER]);
	for (size_t i = 0; i < join->nr_runs; i++) {
		const struct folded_header *from = &join->runs[i].header;

		for (size_t j = 0; j < from->nr; j++) {
			const struct folded_field *field = &from->fields[j];
			char *split = mem_printf("before %s", field->key);

			if (!folded_header_get(&header, field->key) &&
			    !folded_header_get(&header, split))
				carry_field(join, field->key, field->value, &header);
			free(split);
		}
	}
	folded_header_write(&header, out);
	folded_header_release(&header);
}

void columns_write(const struct join *join, struct scale *scale, bool with_header,
                   struct output *out)
{
	struct slice *shown = mem_alloc((join->names.nr + 1) * sizeof(*shown));
	char number[2 * WEIGHT_TEXT + 2];

	if (with_header)
		write_header(join, scale, out);
	for (uint32_t i = 0; i < join->names.nr; i++)
		shown[i] = join_shown(join, i);
	for (size_t i = 0; i < join->nr_stacks; i++) {
		const struct join_stack *stack = &join->stacks[i];
		const uint32_t *frames = join->frames + stack->first;
		weight_fx before = scale_next(scale, columns_sum(join, i, JOIN_BEFORE));
		weight_fx after = columns_sum(join, i, JOIN_AFTER);
		size_t size = 0;

		for (uint32_t j = 0; j < stack->nr_frames; j++) {
			if (j)
				output_add(out, ";", 1);
			output_add(out, shown[frames[j]].at, shown[frames[j]].size);
		}
		number[size++] = ' ';
		size += weight_format(number + size, before);
		number[size++] = ' ';
		size += weight_format(number + size, after);
		number[size++] = '\n';
		output_add(out, number, size);
	}
	free(shown);
}
