#include "share/compat.h"
#include "collapse/measure.h"

static bool has_number(const int64_t *list, size_t nr, int64_t value)
{
	for (size_t i = 0; i < nr; i++)
		if (list[i] == value)
			return true;
	return nr == 0;
}

bool measure_wants_all(const struct measure_filter *filter)
{
	return !filter->nr_comms && !filter->nr_pids && !filter->nr_tids && !filter->nr_cpus &&
	       !filter->time_from && !filter->time_to;
}

bool measure_wants_task(const struct measure_filter *filter, struct session *session,
                        const struct sample *sample, const struct thread *thread)
{
	const char *comm;

	if (!has_number(filter->pids, filter->nr_pids, sample->pid) ||
	    !has_number(filter->tids, filter->nr_tids, sample->tid) ||
	    !has_number(filter->cpus, filter->nr_cpus, sample->cpu))
		return false;
	if (!filter->nr_comms)
		return true;
	comm = strtab_text(&session->texts, session_comm(session, thread));
	for (size_t i = 0; i < filter->nr_comms; i++)
		if (strcmp(filter->comms[i], comm) == 0)
			return true;
	return false;
}

bool measure_wants(const struct measure_filter *filter, struct session *session,
                   const struct sample *sample, const struct thread *thread)
{
	if (sample->time < filter->time_from || (filter->time_to && sample->time > filter->time_to))
		return false;
	return measure_wants_task(filter, session, sample, thread);
}

bool measure_weigh(enum measure_count count, const struct event *event, const struct sample *sample,
                   weight_fx *weight)
{
	const struct perf_event_attr *attr = &event->attr;

	switch (count) {
	case MEASURE_SAMPLES:
		*weight = weight_from_u64(1);
		return true;
	case MEASURE_PERIOD:
		*weight = weight_from_u64(sample->period);
		return sample->has_period;
	case MEASURE_TIME:
		/* microseconds */
		if (strcmp(event_unit(event), "nanoseconds") == 0 && sample->has_period)
			*weight = (weight_fx)sample->period * (WEIGHT_ONE / 1000);
		else if (attr->freq && attr->sample_freq)
			*weight = weight_from_u64(1000000) / attr->sample_freq;
		else
			return false;
		return true;
	}
	return false;
}
