/* What the options of TLS mean, and which of them cannot be. */
#include "probe/tls_options.h"

#include <string.h>

#include "probe/probe.h"

#define HOST_CHARS "abcdefghijklmnopqrstuvwxyz0123456789-."

struct tls_setting
tls_options_setting(const struct tls_options *options)
{
	return (struct tls_setting){
		.version = (enum tls_version)options->version,
		.key = (enum tls_key)options->key,
		.group = (enum tls_group)options->group,
		.mutual = options->mutual,
		.early = options->how == SESSION_EARLY,
	};
}

int
tls_options_check(const struct tls_options *options, struct err *err)
{
	struct tls_setting setting = tls_options_setting(options);
	size_t len = strlen(options->name);

	/* 64 is also what a certificate's common name may take. */
	if (len < 1 || len > 64 || strspn(options->name, HOST_CHARS) != len)
		return err_set(err,
			"option 'name': '%.70s' is not a host name in small letters, 64 at most",
			options->name);
	if (*options->ca && options->mutual)
		return err_set(err, "mutual=on needs our own server, which signs the client's "
				    "key: not with 'ca'");
	return tls_check(&setting, err);
}

int
tls_options_start(const struct tls_options *options, struct err *err)
{
	if (tls_setup(err) < 0)
		return -1;
	if (tls_has_group((enum tls_group)options->group, err) < 0)
		return PROBE_UNSUPPORTED;
	return 0;
}
