/* A client for containers that have none: fetch http://HOST[:PORT][/PATH] prints the body of the answer.
 * Ends with 0 for an answer of the 200s; otherwise with 1 and one line that says at which hop it failed: name, connection or answer.
 */
#include <stdio.h>
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

static int print_answer(Socket peer, const char* host) {
    static char answer[AnswerLimit + 1];
    int size = 0, received;
    limit_receive(peer, WaitMilliseconds);
    while (size < AnswerLimit && (received = recv(peer, answer + size, AnswerLimit - size, 0)) > 0) size += received;
    answer[size] = 0;
    const char* body = strstr(answer, "\r\n\r\n");
    const char* code = strchr(answer, ' ');
    if (!body || !code) return fail("no answer from", host, last_error());
    fwrite(body + 4, 1, (size_t)(answer + size - body - 4), stdout);
    return code[1] == '2' ? 0 : fail("answer of", host, atoi(code + 1));
}

int main(int count, char** words) {
    char host[HostLimit], port[8] = "80", path[RequestLimit / 2] = "/", request[RequestLimit];
    if (count != 2 || sscanf(words[1], "http://%255[^:/]", host) != 1) {
        fprintf(stderr, "usage: fetch http://HOST[:PORT][/PATH]\n");
        return 2;
    }
    const char* rest = words[1] + strlen("http://") + strlen(host);
    if (*rest == ':') sscanf(rest, ":%7[0-9]", port);
    if ((rest = strchr(rest, '/'))) snprintf(path, sizeof path, "%s", rest);

    start_sockets();
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *target = NULL;
    int error = getaddrinfo(host, port, &hints, &target);
    if (error) return fail("cannot resolve", host, error);
    Socket peer = connect_to(target, &error);
    if (peer == NoSocket) return fail("cannot connect to", host, error);
    const int size = snprintf(request, sizeof request, "GET %s HTTP/1.0\r\nHost: %s\r\nConnection: close\r\n\r\n", path, host);
    send(peer, request, size, 0);
    return print_answer(peer, host);
}
