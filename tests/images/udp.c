/* What busybox lacks for the network tests:  udp serve PORT  answers every datagram with the host's name and the text;
 * udp ask ADDRESS PORT TEXT  sends one and prints the answer, or ends with 1 after two seconds. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static int serve(int port) {
    char text[512], answer[1024], host[256];
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(port)}, peer;
    const int listener = socket(AF_INET, SOCK_DGRAM, 0);
    if (bind(listener, (struct sockaddr *)&own, sizeof own) != 0 || gethostname(host, sizeof host) != 0) return 1;
    for (;;) {
        socklen_t peer_size = sizeof peer;
        const ssize_t size = recvfrom(listener, text, sizeof text, 0, (struct sockaddr *)&peer, &peer_size);
        if (size < 0) return 1;
        const int length = snprintf(answer, sizeof answer, "%s %.*s", host, (int)size, text);
        sendto(listener, answer, length, 0, (struct sockaddr *)&peer, peer_size);
    }
}

static int ask(const char *address, int port, const char *text) {
    char answer[1024];
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons(port)};
    const struct timeval patience = {.tv_sec = 2};
    const int client = socket(AF_INET, SOCK_DGRAM, 0);
    inet_pton(AF_INET, address, &peer.sin_addr);
    setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(client, (struct sockaddr *)&peer, sizeof peer) != 0) return perror("udp"), 1;
    if (send(client, text, strlen(text), 0) < 0) return perror("udp"), 1;
    const ssize_t size = recv(client, answer, sizeof answer, 0);
    if (size < 0) return perror("udp"), 1;
    printf("%.*s\n", (int)size, answer);
    return 0;
}

int main(int count, char **words) {
    if (count == 3 && strcmp(words[1], "serve") == 0) return serve(atoi(words[2]));
    if (count == 5 && strcmp(words[1], "ask") == 0) return ask(words[2], atoi(words[3]), words[4]);
    return fprintf(stderr, "udp serve PORT | udp ask ADDRESS PORT TEXT\n"), 2;
}
