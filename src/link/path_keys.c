/* What the keys of one direction come to. */
#include "link/path_keys.h"

#include <string.h>

#include "base/units.h"
#include "link/trace.h"

#define BILLION INT64_C(1000000000)
#define PPB_OF_PPM 1000

#define OWN(member) offsetof(struct path_keys, member)

const struct conf_key path_keys_table[] = {
	{"delay", CONF_DURATION, OWN(delay), false, 0, PROFILE_DELAY_MAX_NS},
	PATH_KEYS_ROWS(OWN),
	{0},
};

struct gemodel_keys {
	struct conf_number p, r, bad, good;
};

#define STATE(member) offsetof(struct gemodel_keys, member)

static const struct conf_key gemodel_table[] = {
	{"p", CONF_PERCENT, STATE(p), true, 0, PROFILE_SHARE_MAX},
	{"r", CONF_PERCENT, STATE(r), true, 0, PROFILE_SHARE_MAX},
	{"bad", CONF_PERCENT, STATE(bad), false, 0, PROFILE_SHARE_MAX},
	{"good", CONF_PERCENT, STATE(good), false, 0, PROFILE_SHARE_MAX},
	{0},
};

static const char *const distribution_names[] = {
	[DISTRIBUTION_UNIFORM] = "uniform",
	[DISTRIBUTION_NORMAL] = "normal",
	[DISTRIBUTION_PARETO] = "pareto",
	[DISTRIBUTION_PARETONORMAL] = "paretonormal",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

void
path_keys_forget(struct path_keys *keys, const struct conf_node *map)
{
	for (const struct conf_key *row = path_keys_table; row->name; row++) {
		void *member = (char *)keys + row->offset;

		if (!conf_get(map, row->name))
			continue;
		if (row->type < CONF_WORD)
			*(struct conf_number *)member = (struct conf_number){0};
		else
			*(const struct conf_node **)member = NULL;
	}
	if (conf_get(map, "rtt"))
		keys->delay = (struct conf_number){0};
	if (conf_get(map, "loss")) {
		keys->gemodel = NULL;
		keys->burst = (struct conf_number){0};
	}
	if (conf_get(map, "gemodel"))
		keys->loss = keys->burst = (struct conf_number){0};
}

/* The key of one direction if it is there, else the one for both. */
static const struct conf_number *
pick(const struct conf_number *own, const struct conf_number *both)
{
	return own->at ? own : both;
}

static int
apply_jitter(const struct conf_doc *doc, const struct path_keys *own,
	const struct path_keys *both, const char *name, struct impairment *path,
	struct err *err)
{
	const struct conf_number *jitter = pick(&own->jitter, &both->jitter);
	const struct conf_node *word = own->distribution ? own->distribution
							 : both->distribution;
	char have[UNITS_TEXT_SIZE], limit[UNITS_TEXT_SIZE];
	struct err what;

	path->jitter_ns = jitter->value;
	if (jitter->value > path->delay_ns) {
		units_format(UNIT_DURATION, jitter->value, have);
		units_format(UNIT_DURATION, path->delay_ns, limit);
		return conf_error(doc, jitter->at, err,
			"key 'jitter': %s is larger than the delay of %s (one way, %s)", have,
			limit, name);
	}
	if (!word)
		return 0;
	if (!jitter->at)
		return conf_key_error(
			doc, word, err, "key 'distribution': of what? 'jitter' is missing");
	for (size_t i = 0; i < COUNT(distribution_names); i++)
		if (!strcmp(word->text, distribution_names[i])) {
			path->distribution = (enum distribution)i;
			return 0;
		}
	conf_unknown("distribution", word->text, distribution_names, COUNT(distribution_names),
		&what);
	return conf_error(doc, word, err, "%s", what.text);
}

/* Of two states that lose `bad` and `good`, what is lost in the long run. */
static int64_t
long_run_ppm(const struct gemodel *model)
{
	double p = (double)model->to_bad_ppb, r = (double)model->to_good_ppb;
	double bad = p + r > 0 ? p / (p + r) : 0;

	return (int64_t)((bad * (double)model->bad_loss_ppb +
				 (1 - bad) * (double)model->good_loss_ppb) /
				 PPB_OF_PPM +
			 0.5);
}

static int
apply_gemodel(const struct conf_doc *doc, const struct conf_node *node, struct impairment *path,
	struct err *err)
{
	struct gemodel_keys keys = {.bad = {.value = PROFILE_SHARE_MAX}};

	if (conf_fill(doc, node, gemodel_table, &keys, err) < 0)
		return -1;
	path->bursts = true;
	path->gemodel = (struct gemodel){
		.to_bad_ppb = keys.p.value * PPB_OF_PPM,
		.to_good_ppb = keys.r.value * PPB_OF_PPM,
		.bad_loss_ppb = keys.bad.value * PPB_OF_PPM,
		.good_loss_ppb = keys.good.value * PPB_OF_PPM,
	};
	path->loss_ppm = long_run_ppm(&path->gemodel);
	return 0;
}

/* Gilbert's model from its two observable figures: a bad state that loses all and is left after
 * each packet with r = 1 / burst, and entered so often that the share p / (p + r) is lost. */
static int
apply_burst(const struct conf_doc *doc, const struct conf_number *burst,
	struct impairment *path, struct err *err)
{
	int64_t good_ppm = PROFILE_SHARE_MAX - path->loss_ppm;
	int64_t r_ppb = BILLION / burst->value, p_ppb;
	char text[UNITS_TEXT_SIZE];

	if (path->loss_ppm == 0)
		return 0;
	p_ppb = good_ppm ? (path->loss_ppm * r_ppb + good_ppm / 2) / good_ppm : BILLION + 1;
	if (p_ppb > BILLION) {
		units_format(UNIT_PERCENT, path->loss_ppm, text);
		return conf_error(doc, burst->at, err,
			"key 'burst': bursts of %lld can't lose %s of all packets: at most %lld of "
			"%lld, or leave 'burst' out",
			(long long)burst->value, text, (long long)burst->value,
			(long long)burst->value + 1);
	}
	path->bursts = true;
	path->gemodel = (struct gemodel){
		.to_bad_ppb = p_ppb, .to_good_ppb = r_ppb, .bad_loss_ppb = BILLION};
	return 0;
}

static int
apply_loss(const struct conf_doc *doc, const struct path_keys *own,
	const struct path_keys *both, struct impairment *path, struct err *err)
{
	const struct path_keys *level = own->loss.at || own->gemodel ? own : both;
	const struct conf_number *burst = pick(&own->burst, &both->burst);

	if (level->gemodel && (level->loss.at || own->burst.at || level->burst.at))
		return conf_key_error(doc, level->gemodel, err,
			"'gemodel' says all about loss: leave out 'loss' and 'burst'");
	if (level->gemodel)
		return apply_gemodel(doc, level->gemodel, path, err);
	if (burst->at && !level->loss.at)
		return conf_key_error(
			doc, burst->at, err, "key 'burst': of what? 'loss' is missing");
	path->loss_ppm = level->loss.value;
	return burst->at ? apply_burst(doc, burst, path, err) : 0;
}

static int
apply_reorder(const struct conf_doc *doc, const struct path_keys *own,
	const struct path_keys *both, const char *name, struct impairment *path,
	struct err *err)
{
	const struct conf_number *reorder = pick(&own->reorder, &both->reorder);
	const struct conf_number *gap = pick(&own->gap, &both->gap);

	if (gap->at && !reorder->at)
		return conf_key_error(
			doc, gap->at, err, "key 'gap': of what? 'reorder' is missing");
	if (reorder->value && !path->delay_ns)
		return conf_key_error(doc, reorder->at, err,
			"key 'reorder': without a delay (%s) nothing can be overtaken", name);
	path->reorder_ppm = reorder->value;
	path->reorder_gap = !reorder->value ? 0 : gap->at ? gap->value : 1;
	return 0;
}

static int
apply_rate(const struct conf_doc *doc, const struct path_keys *own,
	const struct path_keys *both, struct impairment *path, struct err *err)
{
	const struct conf_number *rate = pick(&own->rate, &both->rate);
	const struct conf_number *queue = pick(&own->queue, &both->queue);

	if (rate->at && path->trace)
		return conf_key_error(doc, rate->at, err,
			"'rate' and 'trace' together: how fast the link is, is one or the "
			"other");
	if (queue->at && !rate->at && !path->trace)
		return conf_key_error(doc, queue->at, err,
			"key 'queue': without a 'rate' (or 'trace') nothing queues");
	path->rate_bps = rate->value;
	path->queue_bytes = queue->value;
	return 0;
}

int
path_keys_apply(const struct conf_doc *doc, const struct path_keys *own,
	const struct path_keys *both, const char *name, struct impairment *path,
	struct err *err)
{
	if (apply_jitter(doc, own, both, name, path, err) < 0 ||
		apply_loss(doc, own, both, path, err) < 0 ||
		apply_reorder(doc, own, both, name, path, err) < 0 ||
		apply_rate(doc, own, both, path, err) < 0)
		return -1;
	path->duplicate_ppm = pick(&own->duplicate, &both->duplicate)->value;
	path->corrupt_ppm = pick(&own->corrupt, &both->corrupt)->value;
	path->limit_packets = pick(&own->limit, &both->limit)->value;
	return 0;
}
