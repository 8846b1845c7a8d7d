#pragma once

/* For any thread, after start_sockets(). */

/* 0 once the IPv4 address `host` has answered, 1 where it does not within `milliseconds`. */
int ping(const char* host, int milliseconds);
/* The IPv4 address of the default gateway into `text` (of 16 bytes). 0 where there is none. */
int find_gateway(char* text);
