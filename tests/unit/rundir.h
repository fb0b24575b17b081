/* Synthetic run directories, small enough to check by hand. */
#ifndef TESTS_UNIT_RUNDIR_H
#define TESTS_UNIT_RUNDIR_H

#include "scratch.h"

/* The profiles of every synthetic manifest. */
#define RUNDIR_PROFILES                                                                        \
	"[{\"name\":\"localhost\",\"file\":\"\",\"text\":\"\",\"loopback\":true,\"rtt_ns\":0}" \
	","                                                                                    \
	"{\"name\":\"wan50\",\"file\":\"\",\"text\":\"\",\"loopback\":false,\"rtt_ns\":"       \
	"50000000,"                                                                            \
	"\"jitter_ns\":0,\"loss_up_ppm\":10000,\"loss_down_ppm\":20000,\"rate_bps\":0}]"

/* manifest.json with these cells (JSON objects, separated by commas). */
static inline void
rundir_manifest(const char *dir, int repeats, const char *cells)
{
	char *text = alloc_printf(
		"{\"schema\":1,\"run\":\"20261130T170000Z-test\",\"matrix\":{\"name\":\"test\","
		"\"file\":\"m.yaml\",\"text\":\"\"},\"profiles\":" RUNDIR_PROFILES
		",\"seed\":1,"
		"\"repeats\":%d,\"runtime\":\"netns\",\"link\":\"tun\",\"jobs\":2,"
		"\"start\":\"2026-11-30T17:00:00Z\",\"end\":null,\"complete\":false,"
		"\"cells\":[%s],\"order\":[],\"system\":{\"kernel\":\"6.1\",\"cores\":2,"
		"\"sysctls\":{\"x\":\"y\"}}}",
		repeats, cells);

	scratch_write(dir, "manifest.json", text);
	free(text);
}

/* A cell object of a manifest; `expects` are JSON objects. free() it. */
static inline char *
rundir_cell(const char *probe, const char *variant, const char *profile, const char *expects)
{
	return alloc_printf("{\"id\":\"%s/%s/%s/4\",\"probe\":\"%s\",\"variant\":\"%s\","
			    "\"options\":{},\"profile\":\"%s\",\"family\":4,\"samples\":2,"
			    "\"shared\":false,\"expect\":[%s]}",
		probe, variant, profile, probe, variant, profile, expects);
}

/* One file of one repeat. */
static inline void
rundir_file(const char *dir, const char *id, int repeat, const char *name, const char *text)
{
	char *path = alloc_printf("cells/%s/%d/%s", id, repeat, name);

	scratch_write(dir, path, text);
	free(path);
}

/* A repeat that was ok, on the loopback interface. */
static inline void
rundir_local(
	const char *dir, const char *id, int repeat, const char *client, const char *server)
{
	rundir_file(dir, id, repeat, "client.txt", client);
	rundir_file(dir, id, repeat, "server.txt", server);
	rundir_file(dir, id, repeat, "outcome.txt",
		"info status ok\ninfo runtime netns\ninfo link none\ninfo shared no\n");
}

/* A repeat that was ok, over a link whose echo took 50,100,000 and 50,200,000 ns. */
static inline void
rundir_linked(
	const char *dir, const char *id, int repeat, const char *client, const char *server)
{
	rundir_local(dir, id, repeat, client, server);
	rundir_file(dir, id, repeat, "link.txt",
		"info backend tun\nready 198.18.0.1\ncount up_packets 600\ncount up_lost 4\n"
		"count up_dropped 0\ncount down_packets 400\ncount down_lost 8\n");
	rundir_file(dir, id, repeat, "link-before.txt",
		"sample echo ns 50100000\nsample echo_up ns 25000000\ncount echo_sent 1\n");
	rundir_file(dir, id, repeat, "link-after.txt", "sample echo ns 50200000\n");
	rundir_file(dir, id, repeat, "outcome.txt",
		"info status ok\ninfo runtime netns\ninfo link tun\ninfo shared yes\n");
}

/* A repeat that was not. */
static inline void
rundir_bad(const char *dir, const char *id, int repeat, const char *status, const char *reason)
{
	char *text = alloc_printf("info status %s\ninfo reason %s\ninfo runtime netns\n"
				  "info link none\n",
		status, reason);

	rundir_file(dir, id, repeat, "outcome.txt", text);
	free(text);
}

#endif
