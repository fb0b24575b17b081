/* Literal IP addresses with a port; nothing here ever asks a resolver. */
#ifndef NET_ADDR_H
#define NET_ADDR_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"

#define ADDR_TEXT_SIZE 64

struct addr {
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} sock;
	socklen_t len;
};

/* Read "198.18.0.2:80" or "[::1]:80"; port 0 is allowed. -1 with an error that quotes the text.
 */
int addr_parse(const char *text, struct addr *addr, struct err *err);

/* Print as addr_parse() reads it. */
void addr_format(const struct addr *addr, char out[static ADDR_TEXT_SIZE]);

/* The address a socket is bound to. */
int addr_of_socket(int fd, struct addr *addr, struct err *err);

/* The same address and port? */
bool addr_equal(const struct addr *a, const struct addr *b);

int addr_family(const struct addr *addr);

/* In host byte order. */
uint16_t addr_port(const struct addr *addr);
void addr_set_port(struct addr *addr, uint16_t port);

#endif
