/* Our two images, as `make images` builds them: which, and what is in them. */
#ifndef RUN_IMAGES_H
#define RUN_IMAGES_H

#include "base/err.h"

struct image {
	char *name;  /* rttmatrix-probes:DIGEST, the digest of the sources it was made from */
	char *id;    /* the engine's, sha256:... */
	char *facts; /* JSON: digests of its programs, versions of its libraries; may be "" */
};

struct images {
	struct image probes, link;
};

/* Find those made from the same sources as this program. -1, with what makes them, when one is
 * not there. */
int images_find(struct images *images, struct err *err);
void images_free(struct images *images);

/* Look at one image by name. -1 when it is not there. */
int image_find(const char *name, struct image *image, struct err *err);
void image_free(struct image *image);

#endif
