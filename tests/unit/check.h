/* Checks that print both values, and the main() every unit test program shares. */
#ifndef TESTS_UNIT_CHECK_H
#define TESTS_UNIT_CHECK_H

#include <CUnit/Basic.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Equal integers; on failure both are printed. */
#define CHECK_INT(actual, expected)                                                            \
	do {                                                                                   \
		int64_t check_a = (int64_t)(actual), check_e = (int64_t)(expected);            \
		if (check_a != check_e)                                                        \
			fprintf(stderr, "%s:%d: %s is %" PRId64 ", expected %" PRId64 "\n",    \
				__FILE__, __LINE__, #actual, check_a, check_e);                \
		CU_ASSERT(check_a == check_e);                                                 \
	} while (0)

/* low <= actual <= high; on failure all three are printed. */
#define CHECK_BETWEEN(actual, low, high)                                                       \
	do {                                                                                   \
		double check_a = (double)(actual), check_l = (double)(low),                    \
		       check_h = (double)(high);                                               \
		int check_in = check_a >= check_l && check_a <= check_h;                       \
		if (!check_in)                                                                 \
			fprintf(stderr, "%s:%d: %s is %g, expected %g to %g\n", __FILE__,      \
				__LINE__, #actual, check_a, check_l, check_h);                 \
		CU_ASSERT(check_in);                                                           \
	} while (0)

/* Equal strings; on failure both are printed. */
#define CHECK_TEXT(actual, expected)                                                           \
	do {                                                                                   \
		const char *check_a = (actual), *check_e = (expected);                         \
		int check_same = check_a && check_e && !strcmp(check_a, check_e);              \
		if (!check_same)                                                               \
			fprintf(stderr, "%s:%d: %s is\n  '%s', expected\n  '%s'\n", __FILE__,  \
				__LINE__, #actual, check_a ? check_a : "(null)",               \
				check_e ? check_e : "(null)");                                 \
		CU_ASSERT(check_same);                                                         \
	} while (0)

/* Runs the suite and ends with "NAME: P passed, F failed"; the exit status of the program. */
static inline int
check_main(const char *name, CU_TestInfo *tests)
{
	CU_SuiteInfo suites[] = {{name, NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};
	unsigned failed, run;

	if (CU_initialize_registry() != CUE_SUCCESS ||
		CU_register_suites(suites) != CUE_SUCCESS) {
		fprintf(stderr, "%s: %s\n", name, CU_get_error_msg());
		return 1;
	}
	CU_basic_set_mode(CU_BRM_SILENT);
	CU_basic_run_tests();
	CU_basic_show_failures(CU_get_failure_list());
	run = CU_get_number_of_tests_run();
	failed = CU_get_number_of_tests_failed();
	printf("%s%s: %u passed, %u failed\n", failed ? "\n" : "", name, run - failed, failed);
	CU_cleanup_registry();
	return failed != 0 || run == 0;
}

#endif
