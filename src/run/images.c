/* Finds images by the digest of our sources, which is compiled in. */
#include "run/images.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "run/engine.h"

/* The Makefile defines it (see docker/sources-digest). Built without, no image is ours. */
#ifndef SOURCES_DIGEST
#define SOURCES_DIGEST "none"
#endif

void
image_free(struct image *image)
{
	free(image->name);
	free(image->id);
	free(image->facts);
	*image = (struct image){0};
}

void
images_free(struct images *images)
{
	image_free(&images->probes);
	image_free(&images->link);
}

int
image_find(const char *name, struct image *image, struct err *err)
{
	const char *const arguments[] = {"image", "inspect", "--format",
		"{{.Id}} {{index .Config.Labels \"rttmatrix.facts\"}}", name, NULL};
	struct buf out = {0};
	int status = engine_run(arguments, &out, err);

	if (status == 0) {
		char *id = out.data, *facts;

		id[strcspn(id, "\n")] = '\0';
		facts = id + strcspn(id, " ");
		*image = (struct image){
			.name = alloc_text(name),
			.id = alloc_text_n(id, (size_t)(facts - id)),
			.facts = alloc_text(*facts ? facts + 1 : facts),
		};
	}
	buf_free(&out);
	return status;
}

int
images_find(struct images *images, struct err *err)
{
	struct err reason;

	*images = (struct images){0};
	if (image_find("rttmatrix-probes:" SOURCES_DIGEST, &images->probes, &reason) == 0 &&
		image_find("rttmatrix-link:" SOURCES_DIGEST, &images->link, &reason) == 0)
		return 0;
	images_free(images);
	return err_set(err, "the images of these sources are not built (make images): %s",
		reason.text);
}
