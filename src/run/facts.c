/* Reads the machine's state from /proc and /sys, and the digests of what will run. */
#include "run/facts.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <yaml.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/proc.h"
#include "run/docker.h"

#define BINARY_MAX ((size_t)256 << 20)

/* Settings that move the figures; a fresh network namespace starts from these. */
static const char *const sysctls[] = {
	"net/core/somaxconn",
	"net/core/rmem_max",
	"net/core/wmem_max",
	"net/core/default_qdisc",
	"net/ipv4/tcp_congestion_control",
	"net/ipv4/tcp_rmem",
	"net/ipv4/tcp_wmem",
	"net/ipv4/tcp_fastopen",
	"net/ipv4/tcp_tw_reuse",
	"net/ipv4/tcp_max_tw_buckets",
	"net/ipv4/tcp_slow_start_after_idle",
	"net/ipv4/tcp_timestamps",
	"net/ipv4/ip_local_port_range",
};

void
facts_time(char out[static FACTS_TIME_SIZE])
{
	time_t now = time(NULL);
	struct tm utc;

	gmtime_r(&now, &utc);
	strftime(out, FACTS_TIME_SIZE, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

/* The first line of a small file, tabs as spaces; NULL if it cannot be read. */
static json_t *
first_line(const char *path)
{
	struct buf text = {0};
	json_t *line = json_null();

	if (file_read(path, 1 << 20, &text, NULL) == 0 && text.len) {
		text.data[strcspn(text.data, "\n")] = '\0';
		for (char *at = text.data; *at; at++)
			if (*at == '\t')
				*at = ' ';
		line = json_string(text.data);
	}
	buf_free(&text);
	return line ? line : json_null();
}

static json_t *
sysctl_facts(void)
{
	json_t *all = json_object();

	for (size_t i = 0; i < sizeof(sysctls) / sizeof(sysctls[0]); i++) {
		char *path = alloc_printf("/proc/sys/%s", sysctls[i]);
		char *name = alloc_text(sysctls[i]);

		for (char *at = name; *at; at++)
			if (*at == '/')
				*at = '.';
		json_object_set_new(all, name, first_line(path));
		free(name);
		free(path);
	}
	return all;
}

/* "model name" of the first processor. */
static json_t *
cpu_model(void)
{
	struct buf text = {0};
	json_t *model = json_null();
	const char *line;

	if (file_read("/proc/cpuinfo", 1 << 20, &text, NULL) == 0 &&
		(line = strstr(buf_text(&text), "model name")) && (line = strchr(line, ':')))
		model = json_stringn(line + 2, strcspn(line + 2, "\n"));
	buf_free(&text);
	return model ? model : json_null();
}

static json_t *
digest(const char *path)
{
	unsigned char hash[EVP_MAX_MD_SIZE];
	char hex[2 * EVP_MAX_MD_SIZE + 1];
	struct buf bytes = {0};
	json_t *value = json_null();
	unsigned len = 0;

	if (file_read(path, BINARY_MAX, &bytes, NULL) == 0 &&
		EVP_Digest(buf_text(&bytes), bytes.len, hash, &len, EVP_sha256(), NULL)) {
		for (unsigned i = 0; i < len; i++)
			snprintf(hex + 2 * i, 3, "%02x", hash[i]);
		value = json_string(hex);
	}
	buf_free(&bytes);
	return value;
}

static json_t *
binary_facts(const char *bin, const struct catalogue *catalogue, const struct matrix *matrix)
{
	json_t *all = json_object();
	char *rttlink = alloc_printf("%s/rttlink", bin);

	json_object_set_new(all, "rttlink", digest(rttlink));
	free(rttlink);
	for (size_t i = 0; i < catalogue->count; i++) {
		const struct probe_desc *probe = &catalogue->probes[i];
		char *name = alloc_printf("probe-%s", probe->name);

		json_object_set_new(all, name, digest(probe->path));
		free(name);
	}
	for (size_t i = 0; i < matrix->cell_count; i++) {
		const char *command = matrix->cells[i].command;

		if (command && !json_object_get(all, command))
			json_object_set_new(all, command, digest(command));
	}
	return all;
}

/* One line that a command prints; null when it is not there or fails. */
static json_t *
command_line(const char *const argv[])
{
	struct proc_output output = {0};
	json_t *value = json_null();
	char *line;

	if (proc_capture(argv, clock_now() + 2 * NS_PER_S, &output, NULL) == 0 &&
		output.exit_status == 0) {
		line = proc_last_line(&output.out);
		value = json_string(line);
		free(line);
	}
	proc_output_free(&output);
	return value ? value : json_null();
}

/* What `make images` wrote into an image's label goes into `facts`; the rest into the entry. */
static json_t *
image_facts(const struct image *image, json_t *facts)
{
	json_t *label = json_loads(image->facts, 0, NULL);
	static const char *const kinds[] = {"binaries", "libraries"};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		json_object_update(
			json_object_get(facts, kinds[i]), json_object_get(label, kinds[i]));
	if (json_object_get(label, "compiler"))
		json_object_set(facts, "compiler", json_object_get(label, "compiler"));
	json_decref(label);
	return json_pack("{s:s, s:s}", "name", image->name, "id", image->id);
}

/* Ours and those of `image:` cells. */
static json_t *
images_facts(const struct docker *docker, const struct matrix *matrix, json_t *facts)
{
	json_t *images = json_object();

	json_object_set_new(images, "probes", image_facts(&docker->images.probes, facts));
	json_object_set_new(images, "link", image_facts(&docker->images.link, facts));
	for (size_t i = 0; i < matrix->cell_count; i++) {
		const char *name = matrix->cells[i].image;
		struct image image;

		if (!name || json_object_get(images, name) ||
			image_find(name, &image, NULL) < 0)
			continue;
		json_object_set_new(images, name,
			json_pack("{s:s, s:s}", "name", image.name, "id", image.id));
		image_free(&image);
	}
	return images;
}

json_t *
facts_collect(const struct runtime *runtime, const struct catalogue *catalogue,
	const struct matrix *matrix)
{
	const char *const git[] = {"git", "-C", runtime->bin, "describe", "--always", "--dirty",
		"--abbrev=40", "--exclude=*", NULL};
	const char *const tc[] = {"tc", "-V", NULL};
	struct utsname host = {0};
	json_t *libraries = json_object();
	json_t *facts = json_object();

	uname(&host);
	json_object_set_new(libraries, "libyaml", json_string(yaml_get_version_string()));
	json_object_set_new(libraries, "jansson", json_string(jansson_version_str()));
	json_object_set_new(facts, "kernel", json_string(host.release));
	json_object_set_new(facts, "machine", json_string(host.machine));
	json_object_set_new(facts, "cpu", cpu_model());
	json_object_set_new(facts, "cores", json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
	json_object_set_new(facts, "clocksource",
		first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource"));
	json_object_set_new(facts, "sysctls", sysctl_facts());
	json_object_set_new(facts, "commit", command_line(git));
	json_object_set_new(facts, "tc", command_line(tc));
	json_object_set_new(facts, "compiler", json_string(__VERSION__));
	json_object_set_new(facts, "libraries", libraries);
	json_object_set_new(facts, "binaries", binary_facts(runtime->bin, catalogue, matrix));
	if (runtime->docker) {
		json_object_set_new(facts, "engine", json_string(runtime->docker->version));
		json_object_set_new(
			facts, "images", images_facts(runtime->docker, matrix, facts));
	}
	return facts;
}
