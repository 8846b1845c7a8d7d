#include "http_get.h"

#include <stdlib.h>
#include <string.h>

#include "platform.h"

enum { HostLimit = 256, RequestLimit = 2048, AnswerLimit = 1 << 20, WaitMilliseconds = 5000 };

static int fail(const char* what, const char* host, int error) {
    fprintf(stderr, "fetch: %s %s: error %d\n", what, host, error);
    return 1;
}

/* A connection within WaitMilliseconds, or NoSocket and the error. */
static Socket connect_to(const struct addrinfo* target, int* error) {
    Socket peer = socket(target->ai_family, SOCK_STREAM, IPPROTO_TCP);
    set_waiting(peer, 0);
    connect(peer, target->ai_addr, (socklen_t)target->ai_addrlen);
    struct pollfd watched = {.fd = peer, .events = POLLOUT};
    socklen_t size = sizeof *error;
    *error = TimedOut;
    if (poll(&watched, 1, WaitMilliseconds) == 1) getsockopt(peer, SOL_SOCKET, SO_ERROR, (char*)error, &size);
    set_waiting(peer, 1);
    if (*error == 0) return peer;
    close_socket(peer);
    return NoSocket;
}

static int read_answer(Socket peer, const char* host, char* answer, FILE* body) {
    int size = 0, received;
    limit_receive(peer, WaitMilliseconds);
    while (size < AnswerLimit && (received = recv(peer, answer + size, AnswerLimit - size, 0)) > 0) size += received;
    answer[size] = 0;
    const char* head_end = strstr(answer, "\r\n\r\n");
    const char* code = strchr(answer, ' ');
    if (!head_end || !code) return fail("no answer from", host, last_error());
    if (body) fwrite(head_end + 4, 1, (size_t)(answer + size - head_end - 4), body);
    return code[1] == '2' ? 0 : fail("answer of", host, atoi(code + 1));
}

int http_get(const char* url, FILE* body) {
    char host[HostLimit], port[8] = "80", path[RequestLimit / 2] = "/", request[RequestLimit];
    if (sscanf(url, "http://%255[^:/]", host) != 1) return fail("not an http address:", url, 0);
    const char* rest = url + strlen("http://") + strlen(host);
    if (*rest == ':') sscanf(rest, ":%7[0-9]", port);
    if ((rest = strchr(rest, '/'))) snprintf(path, sizeof path, "%s", rest);

    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *target = NULL;
    int error = getaddrinfo(host, port, &hints, &target);
    if (error) return fail("cannot resolve", host, error);
    Socket peer = connect_to(target, &error);
    freeaddrinfo(target);
    if (peer == NoSocket) return fail("cannot connect to", host, error);
    const int size = snprintf(request, sizeof request, "GET %s HTTP/1.0\r\nHost: %s\r\nConnection: close\r\n\r\n", path, host);
    send(peer, request, size, 0);
    char* answer = malloc(AnswerLimit + 1);
    const int result = answer ? read_answer(peer, host, answer, body) : fail("no memory for the answer of", host, 0);
    free(answer);
    close_socket(peer);
    return result;
}
