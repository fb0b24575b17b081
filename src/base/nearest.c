/* Optimal string alignment distance, for words of a command line or a file. */
#include "base/nearest.h"

#include <limits.h>
#include <string.h>

#define WORD_MAX 63 /* longer words are not typing errors of our names */

static int
min3(int a, int b, int c)
{
	int least = a < b ? a : b;

	return least < c ? least : c;
}

static int
distance(const char *a, const char *b)
{
	int rows[3][WORD_MAX + 1], *before = rows[0], *above = rows[1], *row = rows[2];
	int a_len = (int)strlen(a), b_len = (int)strlen(b);

	for (int j = 0; j <= b_len; j++)
		above[j] = j;
	for (int i = 1; i <= a_len; i++) {
		int *spare = before;

		row[0] = i;
		for (int j = 1; j <= b_len; j++) {
			row[j] = min3(above[j] + 1, row[j - 1] + 1,
				above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
				before[j - 2] + 1 < row[j])
				row[j] = before[j - 2] + 1;
		}
		before = above;
		above = row;
		row = spare;
	}
	return above[b_len];
}

const char *
nearest_name(const char *word, const char *const *names, size_t count)
{
	size_t len = strlen(word);
	int limit = len / 3 > 2 ? (int)(len / 3) : 2;
	const char *best = NULL;

	if (len == 0 || len > WORD_MAX)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		int d = strlen(names[i]) > WORD_MAX ? INT_MAX : distance(word, names[i]);

		if (d <= limit && d < (int)len) {
			best = names[i];
			limit = d - 1;
		}
	}
	return best;
}
