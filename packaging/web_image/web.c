/* The sample web server: web [PORT]. On port 80 (or PORT, or the environment's PORT) it answers every request with a page that names the
 * system, the host and the path asked for; a file below /site or C:\site (environment: SITE) is served instead if there is one. One line a
 * request on standard output. Ends with code 0 when it is asked to (SIGTERM, or a control event), after the requests under way.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform.h"

enum { RequestLimit = 8192, PathLimit = 1024, ReceiveMilliseconds = 10000, MostConnections = 64, EndMilliseconds = 5000 };

static Socket listener = NoSocket;
static atomic_int open_connections;
static volatile int ending;

static const char* setting(const char* name, const char* fallback) {
    const char* value = getenv(name);
    return value && *value ? value : fallback;
}

static int send_all(Socket peer, const char* bytes, int size) {
    while (size > 0) {
        const int sent = send(peer, bytes, size, 0);
        if (sent <= 0) return 0;
        bytes += sent;
        size -= sent;
    }
    return 1;
}

static void answer(Socket peer, const char* status, const char* type, const char* body, int size, int with_body) {
    char head[256];
    const int length = snprintf(head, sizeof head, "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n", status, type, size);
    if (send_all(peer, head, length) && with_body) send_all(peer, body, size);
}

/* Only names of plain files below the folder: no "..", no drive, no stream. */
static int is_plain(const char* path) { return path[0] == '/' && path[1] && !strstr(path, "..") && !strpbrk(path + 1, "\\:*?\"<>|%"); }

static char* read_site_file(const char* path, int* size) {
    char name[PathLimit + 300];
    if (!is_plain(path)) return NULL;
    snprintf(name, sizeof name, "%.256s%s", setting("SITE", SiteFolder), path);
    FILE* file = fopen(name, "rb");
    if (!file) return NULL;
    char* bytes = NULL;
    if (fseek(file, 0, SEEK_END) == 0 && (*size = ftell(file)) >= 0 && *size < (16 << 20) && fseek(file, 0, SEEK_SET) == 0) {
        bytes = malloc(*size + 1);
        if (bytes && fread(bytes, 1, *size, file) != (size_t)*size) {
            free(bytes);
            bytes = NULL;
        }
    }
    fclose(file);
    return bytes;
}

static void escape(const char* text, char* out, size_t room) {
    size_t used = 0;
    out[0] = 0;
    for (; *text; ++text) {
        char plain[2] = {*text, 0};
        const char* part = *text == '<' ? "&lt;" : *text == '>' ? "&gt;" : *text == '&' ? "&amp;" : plain;
        if (used + strlen(part) + 1 > room) return;
        strcpy(out + used, part);
        used += strlen(part);
    }
}

static void answer_request(Socket peer, const char* method, const char* path) {
    const int with_body = strcmp(method, "HEAD") != 0;
    int size = 0;
    if (with_body && strcmp(method, "GET") != 0) {
        answer(peer, "405 Method Not Allowed", "text/plain", "only GET and HEAD\n", 18, 1);
        return;
    }
    char* file = read_site_file(path, &size);
    if (file) {
        answer(peer, "200 OK", "text/plain; charset=utf-8", file, size, with_body);
        free(file);
        return;
    }
    char host[256] = "?", safe[PathLimit * 2], page[PathLimit * 2 + 600];
    gethostname(host, sizeof host);
    escape(path, safe, sizeof safe);
    size = snprintf(page, sizeof page, "<!doctype html><title>" SystemName " web server</title>\n<h1>" SystemName " Container Web Server</h1>\n<p>host: %s</p>\n<p>path: %s</p>\n", host, safe);
    answer(peer, "200 OK", "text/html; charset=utf-8", page, size, with_body);
}

static int receive_head(Socket peer, char* head) {
    int used = 0;
    head[0] = 0;
    while (used < RequestLimit - 1 && !strstr(head, "\r\n\r\n")) {
        const int got = recv(peer, head + used, RequestLimit - 1 - used, 0);
        if (got <= 0) return 0;
        head[used += got] = 0;
    }
    return strstr(head, "\r\n\r\n") != NULL;
}

/* Closes so that the peer has read everything first: unread input would turn the close into a reset. */
static void end_politely(Socket peer) {
    char rest[512];
    shutdown(peer, SHUT_WR);
    while (recv(peer, rest, sizeof rest, 0) > 0) {
    }
    close_socket(peer);
}

static void serve(size_t argument) {
    const Socket peer = (Socket)argument;
    char head[RequestLimit], method[16] = "", path[PathLimit] = "", from[NI_MAXHOST] = "?";
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    limit_receive(peer, ReceiveMilliseconds);
    if (getpeername(peer, (struct sockaddr*)&address, &length) == 0) getnameinfo((struct sockaddr*)&address, length, from, sizeof from, NULL, 0, NI_NUMERICHOST);
    if (receive_head(peer, head)) {
        if (sscanf(head, "%15s %1023s", method, path) == 2 && path[0] == '/') {
            if (strchr(path, '?')) *strchr(path, '?') = 0;
            answer_request(peer, method, path);
        } else {
            answer(peer, "400 Bad Request", "text/plain", "bad request\n", 12, 1);
        }
        printf("%s %s %s\n", from, method, path);
        fflush(stdout);
    }
    end_politely(peer);
    atomic_fetch_sub(&open_connections, 1);
}

static Socket listen_on(unsigned short port) {
    const Socket socket_ = socket(AF_INET6, SOCK_STREAM, IPPROTO_TCP);
    if (socket_ != NoSocket) {
        const int off = 0;
        struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
        setsockopt(socket_, IPPROTO_IPV6, IPV6_V6ONLY, (const char*)&off, sizeof off);
        if (bind(socket_, (struct sockaddr*)&address, sizeof address) == 0 && listen(socket_, SOMAXCONN) == 0) return socket_;
        close_socket(socket_);
    }
    const Socket only_v4 = socket(AF_INET, SOCK_STREAM, IPPROTO_TCP); /* IPv6 may be off */
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    if (only_v4 != NoSocket && bind(only_v4, (struct sockaddr*)&address, sizeof address) == 0 && listen(only_v4, SOMAXCONN) == 0) return only_v4;
    return NoSocket;
}

static void accept_until_ended(void) {
    while (!ending) {
        const Socket peer = accept(listener, NULL, NULL);
        if (peer == NoSocket) {
            if (!ending) sleep_milliseconds(50);
            continue;
        }
        while (atomic_load(&open_connections) >= MostConnections) sleep_milliseconds(5);
        atomic_fetch_add(&open_connections, 1);
        if (run_beside(serve, (size_t)peer)) continue;
        close_socket(peer);
        atomic_fetch_sub(&open_connections, 1);
    }
}

int main(int count, char** arguments) {
    const int port = atoi(count > 1 ? arguments[1] : setting("PORT", "80"));
    if (port <= 0 || port > 65535) {
        fprintf(stderr, "web: the port must be between 1 and 65535\n");
        return 2;
    }
    if (!start_sockets()) {
        fprintf(stderr, "web: no sockets\n");
        return 1;
    }
    listener = listen_on((unsigned short)port);
    if (listener == NoSocket) {
        fprintf(stderr, "web: cannot listen on port %d: error %d\n", port, last_error());
        return 1;
    }
    end_when_asked(listener, &ending);
    printf("listening on port %d\n", port);
    fflush(stdout);
    accept_until_ended();
    for (int waited = 0; atomic_load(&open_connections) > 0 && waited < EndMilliseconds; waited += 10) sleep_milliseconds(10);
    return 0;
}
