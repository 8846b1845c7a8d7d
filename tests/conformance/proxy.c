// Takes the place of hostpathplugin as a proxy: `hostpathplugin --endpoint=SOCKET --proxy-endpoint=tcp://:PORT`. Each connection to the socket is
// joined with one to the port, which stays open, so that a test can make its connections ahead.
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int listen_at(int family, const struct sockaddr* address, socklen_t size) {
    int yes = 1, made = socket(family, SOCK_STREAM, 0);
    setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(made, address, size) != 0 || listen(made, 64) != 0) exit(1);
    return made;
}

static int copy(int from, int to) {
    char bytes[16384];
    ssize_t count = read(from, bytes, sizeof bytes);
    for (ssize_t done = 0; done < count;) {
        ssize_t written = write(to, bytes + done, (size_t)(count - done));
        if (written <= 0) return 0;
        done += written;
    }
    return count > 0;
}

static void join(int left, int right) {
    struct pollfd both[] = {{left, POLLIN, 0}, {right, POLLIN, 0}};
    while (poll(both, 2, -1) > 0) {
        if (both[0].revents && !copy(left, right)) break;
        if (both[1].revents && !copy(right, left)) break;
    }
    _exit(0);
}

int main(int count, char** words) {
    const char *path = "", *port = "";
    for (int i = 1; i < count; ++i) {
        if (strncmp(words[i], "--endpoint=", 11) == 0) path = words[i] + 11;
        if (strncmp(words[i], "--proxy-endpoint=tcp://:", 24) == 0) port = words[i] + 24;
    }
    signal(SIGCHLD, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof local.sun_path) return 1;
    strcpy(local.sun_path, path);
    unlink(path);
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(port))};
    int sockets = listen_at(AF_UNIX, (struct sockaddr*)&local, sizeof local), ports = listen_at(AF_INET, (struct sockaddr*)&any, sizeof any);
    for (;;) {
        int left = accept(sockets, NULL, NULL), right = accept(ports, NULL, NULL);
        if (left < 0 || right < 0) return 1;
        if (fork() == 0) join(left, right);
        close(left);
        close(right);
    }
}
