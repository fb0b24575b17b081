/* Starts, drives and stops one pair on the loopback. */
#include "run/contract_pair.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/units.h"
#include "run/contract.h"

#define SERVE_DEADLINE "60s"
#define RUN_DEADLINE "20s"
#define RUN_DEADLINE_NS (20 * NS_PER_S)

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* "127.0.0.1:80" or "[::1]:80"; false when it is no literal address with a port. */
static bool
parse_address(const char *text, union address *address)
{
	const char *colon = strrchr(text, ':');
	bool six = *text == '[';
	char *host;
	int64_t port;
	bool good;

	if (!colon || (six && colon[-1] != ']') ||
		units_parse_count(colon + 1, &port, NULL) < 0 || port > 65535)
		return false;
	host = alloc_text_n(text + six, (size_t)(colon - text) - (six ? 2 : 0));
	memset(address, 0, sizeof(*address));
	if (six) {
		address->v6.sin6_family = AF_INET6;
		address->v6.sin6_port = htons((uint16_t)port);
		good = inet_pton(AF_INET6, host, &address->v6.sin6_addr) == 1;
	} else {
		address->v4.sin_family = AF_INET;
		address->v4.sin_port = htons((uint16_t)port);
		good = inet_pton(AF_INET, host, &address->v4.sin_addr) == 1;
	}
	free(host);
	return good;
}

/* The same host, and a port in `text`? */
static bool
fits(const union address *asked, const union address *came)
{
	if (asked->any.sa_family != came->any.sa_family)
		return false;
	if (asked->any.sa_family == AF_INET6)
		return came->v6.sin6_port && !memcmp(&asked->v6.sin6_addr, &came->v6.sin6_addr,
						     sizeof(came->v6.sin6_addr));
	return came->v4.sin_port && asked->v4.sin_addr.s_addr == came->v4.sin_addr.s_addr;
}

int
contract_ready(const char *asked, const char *text, struct err *err)
{
	union address want, came;

	if (parse_address(asked, &want) && parse_address(text, &came) && fits(&want, &came))
		return 0;
	return err_set(err, "expected 'ready' with %.*s and its real port, came 'ready %s'",
		(int)(strrchr(asked, ':') - asked), asked, text);
}

static void
add_program(struct command *command, const struct contract *contract,
	const struct pair_setting *setting)
{
	if (setting->locale) {
		command_add(command, "env");
		command_add(command, "LC_ALL=%s", setting->locale);
	}
	command_add(command, "%s", contract->path);
}

static void
add_defaults(struct command *command, const struct contract *contract,
	const struct pair_setting *setting)
{
	for (size_t i = 0; setting->defaults && i < contract->desc.option_count; i++) {
		const struct opt *option = &contract->desc.options[i];

		if (option->default_text)
			command_add(command, "%s=%s", option->name, option->default_text);
	}
}

/* It did not do what was expected: is that because it cannot be done here? */
static enum pair_end
fail(const struct trial *trial, const char *expected, struct err *err)
{
	char *reason = trial_reason(trial);
	enum pair_end end = PAIR_BAD;
	struct err came;

	if (trial_ended(trial, CONTRACT_UNSUPPORTED) && *reason) {
		err_set(err, "%s says: %s", trial->child.what, reason);
		end = PAIR_UNSUPPORTED;
	} else {
		trial_tell(trial, &came);
		err_set(err, "expected %s, %s", expected, came.text);
	}
	free(reason);
	return end;
}

enum pair_end
pair_serve(struct pair *pair, const struct contract *contract,
	const struct pair_setting *setting, struct err *err)
{
	struct command command = {0};
	int status;

	add_program(&command, contract, setting);
	contract_words(&command,
		WORDS("serve", "--listen", setting->listen, "--deadline", SERVE_DEADLINE));
	add_defaults(&command, contract, setting);
	status = trial_start(&pair->serve, "serve", &command, err);
	command_free(&command);
	if (status < 0)
		return PAIR_BAD;
	trial_await(&pair->serve, NULL, true, CONTRACT_READY_NS);
	if (pair->serve.event != CHILD_READY)
		return fail(&pair->serve, "a ready line within 10 s", err);
	if (contract_ready(setting->listen, child_ready_text(&pair->serve.child), err) < 0)
		return PAIR_BAD;
	return PAIR_OK;
}

enum pair_end
pair_run(struct pair *pair, const struct contract *contract, const struct pair_setting *setting,
	struct err *err)
{
	struct command command = {0};
	int status;

	trial_free(&pair->run);
	add_program(&command, contract, setting);
	contract_words(&command,
		WORDS("run", "--peer", child_ready_text(&pair->serve.child), "--samples"));
	command_add(&command, "%d", PAIR_SAMPLES);
	contract_words(&command, WORDS("--deadline", RUN_DEADLINE));
	add_defaults(&command, contract, setting);
	status = trial_start(&pair->run, "run", &command, err);
	command_free(&command);
	if (status < 0)
		return PAIR_BAD;
	trial_await(&pair->run, &pair->serve, false, RUN_DEADLINE_NS + CONTRACT_GRACE_NS);
	if (!trial_ended(&pair->run, 0))
		return fail(&pair->run, "exit 0", err);
	return PAIR_OK;
}

int
pair_connect(const struct pair *pair)
{
	union address peer;
	socklen_t len;
	int fd;

	if (!parse_address(child_ready_text(&pair->serve.child), &peer))
		return -1;
	len = peer.any.sa_family == AF_INET6 ? sizeof(peer.v6) : sizeof(peer.v4);
	/* On the loopback it is established before connect() returns. */
	fd = socket(peer.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && connect(fd, &peer.any, len) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

int
pair_stop(struct pair *pair, struct err *err)
{
	struct err came;

	trial_stop(&pair->serve, CONTRACT_STOP_NS);
	if (trial_ended(&pair->serve, 0))
		return 0;
	if (pair->serve.event == CHILD_TIMEOUT)
		return err_set(err,
			"expected exit 0 within 1 s of SIGTERM, serve went on and was killed");
	trial_tell(&pair->serve, &came);
	return err_set(err, "expected exit 0 after SIGTERM, %s", came.text);
}

int
pair_read(struct pair *pair, struct err *err)
{
	struct err came;

	if (tally_read(&pair->ran, &pair->run.child.out, &came) < 0)
		return err_set(err, "expected records only, run printed in %s", came.text);
	if (tally_read(&pair->served, &pair->serve.child.out, &came) < 0)
		return err_set(err, "expected records only, serve printed in %s", came.text);
	return 0;
}

void
pair_free(struct pair *pair)
{
	tally_free(&pair->ran);
	tally_free(&pair->served);
	trial_free(&pair->run);
	contract_end(&pair->serve);
}
