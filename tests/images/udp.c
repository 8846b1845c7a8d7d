/* What the images of the network tests lack, on both systems:  udp serve PORT  answers every datagram with the host's name and the text;
 * udp ask ADDRESS PORT TEXT  sends one and prints the answer, or ends with 1 after two seconds. */
#include "platform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifndef _WIN32
#include <arpa/inet.h>
#endif

static int failed(void) { return fprintf(stderr, "udp: error %d\n", last_error()), 1; }

static int serve(int port) {
    char text[512], answer[1024], host[256];
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(port)}, peer;
    const Socket listener = socket(AF_INET, SOCK_DGRAM, 0);
    if (bind(listener, (struct sockaddr *)&own, sizeof own) != 0 || gethostname(host, sizeof host) != 0) return failed();
    for (;;) {
        socklen_t peer_size = sizeof peer;
        const int size = (int)recvfrom(listener, text, sizeof text, 0, (struct sockaddr *)&peer, &peer_size);
        if (size < 0) return failed();
        const int length = snprintf(answer, sizeof answer, "%s %.*s", host, size, text);
        sendto(listener, answer, length, 0, (struct sockaddr *)&peer, peer_size);
    }
}

static int ask(const char *address, int port, const char *text) {
    char answer[1024];
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons(port)};
    const Socket client = socket(AF_INET, SOCK_DGRAM, 0);
    inet_pton(AF_INET, address, &peer.sin_addr);
    limit_receive(client, 2000);
    if (connect(client, (struct sockaddr *)&peer, sizeof peer) != 0) return failed();
    if (send(client, text, (int)strlen(text), 0) < 0) return failed();
    const int size = (int)recv(client, answer, sizeof answer, 0);
    if (size < 0) return failed();
    printf("%.*s\n", size, answer);
    return 0;
}

int main(int count, char **words) {
    start_sockets();
    if (count == 3 && strcmp(words[1], "serve") == 0) return serve(atoi(words[2]));
    if (count == 5 && strcmp(words[1], "ask") == 0) return ask(words[2], atoi(words[3]), words[4]);
    return fprintf(stderr, "udp serve PORT | udp ask ADDRESS PORT TEXT\n"), 2;
}
