#pragma once
#include <stdio.h>

/* Writes the body of the answer of http://HOST[:PORT][/PATH] to `body`, which may be NULL. 0 for an answer of the 200s; otherwise 1, and
 * one line on the standard error output says at which hop it failed: name, connection or answer. For any thread, after start_sockets().
 */
int http_get(const char* url, FILE* body);
