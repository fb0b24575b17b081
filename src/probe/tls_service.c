/* TLS between the epoll loop and a probe's server. */
#include "probe/tls_service.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "net/tls_trust.h"

#define PLAIN_SIZE 16384 /* of a TLS record: RFC 8446, 5.1 */

/* One connection. */
struct visit {
	struct tls_site *site;
	struct tls tls;
	bool open;    /* it speaks TLS */
	bool counted; /* its handshake is */
	void *state;  /* the probe's */
};

static void *
visit_open(void *context)
{
	struct tls_site *site = context;
	struct visit *visit = alloc_zero(1, sizeof(*visit));

	visit->site = site;
	visit->state = site->service->open(site->context);
	return visit;
}

static void
visit_close(void *state)
{
	struct visit *visit = state;

	visit->site->failed += visit->open && !visit->counted;
	visit->site->service->close(visit->state);
	tls_close(&visit->tls);
	free(visit);
}

/* Not measured: the first handshake of a client, and what is not what the row is about. */
static void
count_handshake(struct tls_site *site, const struct tls *tls)
{
	bool resumed = tls_resumed(tls), warm_up = site->warm_up;

	site->handshakes++;
	site->warm_up = false;
	site->resumed += resumed;
	site->early += tls_early_accepted(tls);
	if (warm_up || resumed != site->expect_resumed)
		return;
	site->cpu_ns = alloc_grow(
		site->cpu_ns, site->cpu_count, &site->cpu_cap, sizeof(*site->cpu_ns));
	site->cpu_ns[site->cpu_count++] = tls->cpu_ns;
}

/* A whole question: its answer, then the end. What is none is dropped. */
static int
answer_trust(struct session *session, struct tls_site *site)
{
	int status;

	buf_clear(&site->trust);
	status = tls_trust_answer(
		session->in.data, session->in.len, &site->ca, &site->trust, NULL);
	if (status <= 0)
		return status;
	session_take(session, session->in.len);
	session->out = site->trust.data;
	session->out_left = site->trust.len;
	session->closing = true;
	site->warm_up = true;
	site->asked++;
	return 0;
}

/* Hand on all plain bytes there are. -1: the connection is over. */
static int
read_plain(struct visit *visit)
{
	const struct tls_site *site = visit->site;
	char bytes[PLAIN_SIZE];
	ssize_t got;

	while ((got = tls_read(&visit->tls, bytes, sizeof(bytes), NULL)) > 0)
		if (site->service->take(
			    &visit->tls, visit->state, bytes, (size_t)got, site->context) < 0)
			return -1;
	return (int)got;
}

static int
visit_request(struct session *session, void *context)
{
	struct tls_site *site = context;
	struct visit *visit = session->state;
	struct tls *tls = &visit->tls;

	if (!visit->open && tls_trust_is_question(session->in.data, session->in.len))
		return answer_trust(session, site);
	if (!visit->open && tls_open_server(tls, site->tls_context, NULL) < 0)
		return -1;
	visit->open = true;
	tls_flushed(tls);
	tls_feed(tls, session->in.data, session->in.len);
	session_take(session, session->in.len);
	/* What is pending after a failure is the alert. */
	session->closing = read_plain(visit) < 0;
	if (!visit->counted && tls_established(tls)) {
		visit->counted = true;
		count_handshake(site, tls);
	}
	session->out_left = tls_pending(tls, &session->out);
	return 0;
}

static int
prepare(struct tls_site *site, struct err *err)
{
	const struct tls_setting *setting = &site->setting;
	struct tls_identity *own = &site->own;

	if (tls_ca_new(setting->key, &site->ca, err) < 0)
		return -1;
	own->key = tls_key_new(setting->key, err);
	if (!own->key)
		return -1;
	own->cert = tls_issue(
		&site->ca, own->key, TLS_USE_SERVER, site->name, site->least_certificate, err);
	if (!own->cert)
		return -1;
	site->tls_context = tls_server_context(setting, own, site->ca.cert, err);
	return site->tls_context ? 0 : -1;
}

int
tls_site_run(struct tls_site *site, const struct probe_call *call, struct err *err)
{
	static const struct service visits = {
		.open = visit_open,
		.close = visit_close,
		.request = visit_request,
	};

	site->server.service = &visits;
	site->server.context = site;
	if (prepare(site, err) < 0)
		return -1;
	return server_run(&site->server, call, err);
}

void
tls_site_print(const struct tls_site *site)
{
	record_count(stdout, "handshakes", site->handshakes);
	record_count(stdout, "server_resumed", site->resumed);
	record_count(stdout, "server_early", site->early);
	record_count(stdout, "server_failed", site->failed);
}

void
tls_site_free(struct tls_site *site)
{
	tls_context_free(site->tls_context);
	tls_identity_free(&site->own);
	tls_identity_free(&site->ca);
	buf_free(&site->trust);
	free(site->cpu_ns);
}
