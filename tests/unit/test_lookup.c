/* The c-ares client: deadlines, outcomes, the hosts file, and that nothing in the environment
 * changes anything. Servers are sockets of this test. */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/proc.h"
#include "check.h"
#include "net/dns.h"
#include "net/lookup.h"
#include "net/udp.h"
#include "probe/responder.h"

#define NAME "n7.rttmatrix.test"

static struct addr
local(const char *text)
{
	struct addr addr;

	CHECK_INT(addr_parse(text, &addr, NULL), 0);
	return addr;
}

static struct lookup_setting
setting_for(const struct addr *server)
{
	return (struct lookup_setting){
		.servers = {*server}, .server_count = 1, .retry_ns = 5 * NS_PER_S, .tries = 1};
}

static struct lookup_result
look_up(const struct lookup_setting *setting, int family, int64_t timeout_ns)
{
	struct err err = {0};
	struct lookup *lookup = lookup_new(setting, &err);
	struct wait wait = {.how = WAIT_BLOCK, .deadline_ns = clock_now() + timeout_ns};
	struct lookup_result result = {0};

	CU_ASSERT_PTR_NOT_NULL_FATAL(lookup);
	CHECK_INT(lookup_name(lookup, NAME, family, 443, &wait, &result, &err), 0);
	CHECK_TEXT(err.text, "");
	lookup_free(lookup);
	return result;
}

static void
test_silent(void)
{
	struct addr any = local("127.0.0.1:0"), bound;
	int fd = udp_bind(&any, &bound, NULL);
	struct lookup_setting setting = setting_for(&bound);
	struct lookup_result result;

	for (int tries = 1; tries <= 20; tries += 19) {
		setting.tries = tries;
		setting.retry_ns = tries == 1 ? 5 * NS_PER_S : 250 * NS_PER_MS;
		result = look_up(&setting, AF_INET, NS_PER_S);
		CHECK_INT(result.outcome, LOOKUP_TIMEOUT);
		CHECK_BETWEEN(result.end_ns - result.start_ns, 0.999e9, 1.5e9);
		CHECK_BETWEEN(result.attempts, 1, tries == 1 ? 1 : 4);
	}
	close(fd);
}

static void
test_closed_port(void)
{
	struct addr any = local("127.0.0.1:0"), bound;
	int fd = udp_bind(&any, &bound, NULL);
	struct lookup_setting setting = setting_for(&bound);
	struct lookup_result result;

	close(fd);
	result = look_up(&setting, AF_INET, NS_PER_S);
	CHECK_INT(result.outcome, LOOKUP_REFUSED);
	CHECK_BETWEEN(result.end_ns - result.start_ns, 1, 500e6);
	CHECK_INT(result.attempts, 1);
}

/* A server in a child: answers every query with `rcode`, an address for NOERROR, until killed.
 */
static pid_t
start_server(struct addr *bound, enum dns_rcode rcode, bool garble)
{
	struct addr any = local("127.0.0.1:0");
	int fd = udp_bind(&any, bound, NULL);
	pid_t parent = getpid(), child = fork();

	if (child) {
		close(fd);
		return child;
	}
	proc_die_with_parent(parent);
	for (;;) {
		struct pollfd item = {.fd = fd, .events = POLLIN};
		unsigned char bytes[DNS_SIZE];
		struct addr from = {.len = sizeof(from.sock)};
		struct dns_message query;
		struct dns_writer reply;
		ssize_t got;

		poll(&item, 1, -1);
		got = recvfrom(fd, bytes, sizeof(bytes), 0, &from.sock.any, &from.len);
		if (got <= 0 || dns_read(bytes, (size_t)got, &query, NULL) < 0)
			continue;
		dns_write_reply(&reply, bytes, &query, rcode);
		if (rcode == DNS_NOERROR)
			dns_write_address(&reply, DNS_QUESTION_AT,
				(enum dns_type)query.question.type, 60, "abcdefghijklmnop");
		if (garble)
			reply.len -= 3;
		sendto(fd, reply.bytes, reply.len, 0, &from.sock.any, from.len);
	}
}

static void
end_server(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void
test_outcomes(void)
{
	static const struct {
		enum dns_rcode rcode;
		enum lookup_outcome outcome;
	} table[] = {{DNS_NOERROR, LOOKUP_ANSWERED}, {DNS_SERVFAIL, LOOKUP_SERVFAIL},
		{DNS_NXDOMAIN, LOOKUP_NXDOMAIN}, {DNS_REFUSED, LOOKUP_REFUSED},
		{DNS_FORMERR, LOOKUP_WRONG}, {DNS_NOTIMP, LOOKUP_WRONG}};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct addr bound;
		pid_t child = start_server(&bound, table[i].rcode, false);
		struct lookup_setting setting = setting_for(&bound);
		struct lookup_result result = look_up(&setting, AF_INET, 5 * NS_PER_S);

		CHECK_INT(result.outcome, table[i].outcome);
		CHECK_INT(*result.reason == '\0', table[i].outcome == LOOKUP_ANSWERED);
		end_server(child);
	}
}

static void
test_both(void)
{
	struct addr bound;
	pid_t child = start_server(&bound, DNS_NOERROR, false);
	struct lookup_setting setting = setting_for(&bound);
	struct lookup_result result = look_up(&setting, AF_UNSPEC, 5 * NS_PER_S);

	CHECK_INT(result.outcome, LOOKUP_ANSWERED);
	CHECK_INT(result.attempts, 2);
	CHECK_INT(result.addr_count, 2);
	for (size_t i = 0; i < result.addr_count; i++)
		CHECK_INT(addr_port(&result.addrs[i]), 443);
	end_server(child);
}

/* A reply that is cut short is no answer, whatever the version makes of it, and no timeout of a
 * minute. */
static void
test_garbled(void)
{
	struct addr bound;
	pid_t child = start_server(&bound, DNS_NOERROR, true);
	struct lookup_setting setting = setting_for(&bound);
	struct lookup_result result = look_up(&setting, AF_INET, 5 * NS_PER_S);

	CHECK_INT(result.outcome, LOOKUP_WRONG);
	CHECK_BETWEEN(result.end_ns - result.start_ns, 1, 1e9);
	end_server(child);
}

static void
test_hosts(void)
{
	struct addr nobody = local("127.0.0.1:9"), right = local("198.51.100.8:443");
	struct lookup_setting setting = setting_for(&nobody);
	char path[ZONE_PATH_SIZE];
	struct err err = {0};
	int fd = zone_hosts(NAME, path, &err);
	struct lookup_result result;

	setenv("CARES_HOSTS", "/nonexistent", 1);
	setting.hosts = path;
	result = look_up(&setting, AF_INET, NS_PER_S);
	CHECK_INT(result.outcome, LOOKUP_ANSWERED);
	CHECK_INT(result.attempts, 0);
	CHECK_INT(result.addr_count, 1);
	CHECK_INT(memcmp(&result.addrs[0].sock.v4, &right.sock.v4, 8), 0);
	CHECK_INT(look_up(&setting, AF_UNSPEC, NS_PER_S).addr_count, 2);
	close(fd);
	setting.hosts = "/dev/null";
	CHECK_INT(look_up(&setting, AF_INET, NS_PER_S).outcome, LOOKUP_NXDOMAIN);
	CHECK_INT(zone_hosts("example.org", path, &err), -1);
}

/* The worst a user's environment can say. */
static void
test_environment(void)
{
	char aliases[] = "/tmp/test-lookup-XXXXXX";
	int fd = mkstemp(aliases);
	struct addr bound;
	pid_t child = start_server(&bound, DNS_NOERROR, false);
	struct lookup_setting setting = setting_for(&bound);
	struct lookup_result result;

	dprintf(fd, "%s elsewhere.example\n", NAME);
	setenv("HOSTALIASES", aliases, 1);
	setenv("RES_OPTIONS", "use-vc ndots:15 timeout:30 attempts:9 rotate edns0", 1);
	setenv("LOCALDOMAIN", "evil.example", 1);
	setenv("CARES_HOSTS", "/dev/null", 1);
	result = look_up(&setting, AF_INET, 5 * NS_PER_S);
	CHECK_INT(result.outcome, LOOKUP_ANSWERED);
	CHECK_INT(result.attempts, 1);
	CU_ASSERT_PTR_NULL(getenv("RES_OPTIONS"));
	end_server(child);
	close(fd);
	unlink(aliases);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"silent server", test_silent},
		{"closed port", test_closed_port},
		{"outcomes", test_outcomes},
		{"both families", test_both},
		{"garbled reply", test_garbled},
		{"hosts file", test_hosts},
		{"environment", test_environment},
		CU_TEST_INFO_NULL,
	};

	return check_main("lookup", tests);
}
