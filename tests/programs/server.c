// An HTTP server in plain C: threads, files and the environment as the C library has them.
#include <winsock2.h>

#include <process.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char greeting[100];

static void answer(SOCKET client, const char* status, const char* body, int size) {
    char head[200];
    const int length = snprintf(head, sizeof head, "HTTP/1.1 %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n", status, size);
    send(client, head, length, 0);
    send(client, body, size, 0);
}

static int read_file(const char* path, char* text, size_t limit) {
    FILE* file = fopen(path, "rb");
    if (!file) return 0;
    const size_t size = fread(text, 1, limit, file);
    fclose(file);
    return (int)size;
}

/// The whole request, or what had come when the client ended it.
static int receive(SOCKET client, char* text, int limit) {
    int size = 0, wanted = limit;
    while (size < wanted) {
        const int part = recv(client, text + size, limit - size, 0);
        if (part <= 0) break;
        size += part;
        text[size] = 0;
        const char *body = strstr(text, "\r\n\r\n"), *length = strstr(text, "Content-Length: ");
        if (body) wanted = (int)(body + 4 - text) + (length && length < body ? atoi(length + 16) : 0);
    }
    return size;
}

static void serve(SOCKET client, char* text, int limit) {
    char expected[100];
    const int size = receive(client, text, limit);
    snprintf(expected, sizeof expected, "Authorization: Bearer %s\r\n", getenv("TOKEN"));
    if (!strstr(text, expected)) {
        answer(client, "401 Unauthorized", "", 0);
    } else if (strncmp(text, "PUT ", 4) == 0) {
        const char* body = strstr(text, "\r\n\r\n") + 4;
        FILE* file = fopen("C:\\data\\kept", "wb");
        fwrite(body, 1, (size_t)(text + size - body), file);
        fclose(file);
        answer(client, "200 OK", "", 0);
    } else if (strncmp(text, "GET /kept ", 10) == 0) {
        answer(client, "200 OK", text, read_file("C:\\data\\kept", text, (size_t)limit));
    } else {
        char body[200];
        answer(client, "200 OK", body, snprintf(body, sizeof body, "%s in C with %s, %.2f", greeting, RUNTIME, strtod("0x1.8p1", NULL)));
    }
}

static unsigned __stdcall run(void* client) {
    enum { Limit = 200000 };
    char* text = calloc(Limit + 1, 1);
    serve((SOCKET)client, text, Limit);
    shutdown((SOCKET)client, SD_SEND);
    closesocket((SOCKET)client);
    free(text);
    return 0;
}

static BOOL WINAPI on_control(DWORD event) {
    printf("ends after event %lu\n", event);
    fflush(stdout);
    exit(0);
}

int main(void) {
    WSADATA data;
    WSAStartup(MAKEWORD(2, 2), &data);
    read_file("C:\\config\\greeting.txt", greeting, sizeof greeting - 1);
    SetConsoleCtrlHandler(on_control, TRUE);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(8080)};
    const SOCKET listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr*)&address, sizeof address) != 0 || listen(listener, 16) != 0) return 1;
    printf("listening on 8080\n");
    fflush(stdout);
    for (;;) {
        const SOCKET client = accept(listener, NULL, NULL);
        if (client != INVALID_SOCKET) CloseHandle((HANDLE)_beginthreadex(NULL, 0, run, (void*)client, 0, NULL));
    }
}
