#include "../ping.h"

#include <arpa/inet.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../platform.h"

enum { PacketLimit = 1500 };

static unsigned short checksum_of(const struct icmphdr* packet) {
    const unsigned short* words = (const unsigned short*)packet;
    unsigned sum = 0;
    for (size_t i = 0; i < sizeof *packet / sizeof *words; ++i) sum += words[i];
    sum = (sum >> 16) + (sum & 0xffff);
    return (unsigned short)~(sum + (sum >> 16));
}

/* The socket gets the answers to all pings of its target; `id` tells them apart. */
static int wait_for_answer(int peer, unsigned short id) {
    for (unsigned char packet[PacketLimit];;) {
        const ssize_t size = recv(peer, packet, sizeof packet, 0);
        if (size < 0) return 1;
        const size_t head = (size_t)(packet[0] & 15) * 4;
        struct icmphdr answer;
        if ((size_t)size < head + sizeof answer) continue;
        memcpy(&answer, packet + head, sizeof answer);
        if (answer.type == ICMP_ECHOREPLY && answer.un.echo.id == id) return 0;
    }
}

int ping(const char* host, int milliseconds) {
    static atomic_ushort pings;
    struct sockaddr_in target = {.sin_family = AF_INET};
    if (inet_pton(AF_INET, host, &target.sin_addr) != 1) return 1;
    const int peer = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
    if (peer < 0) return 1;
    limit_receive(peer, milliseconds);
    struct icmphdr request = {.type = ICMP_ECHO, .un.echo.id = (unsigned short)(getpid() + pings++)};
    request.checksum = checksum_of(&request);
    const int sent = connect(peer, (const struct sockaddr*)&target, sizeof target) == 0 && send(peer, &request, sizeof request, 0) > 0;
    const int result = sent ? wait_for_answer(peer, request.un.echo.id) : 1;
    close_socket(peer);
    return result;
}

/* /proc/net/route has addresses in the machine's byte order. */
int find_gateway(char* text) {
    char line[256];
    struct in_addr gateway;
    unsigned destination;
    int found = 0;
    FILE* routes = fopen("/proc/net/route", "r");
    while (routes && !found && fgets(line, sizeof line, routes))
        found = sscanf(line, "%*s %x %x", &destination, &gateway.s_addr) == 2 && destination == 0 && gateway.s_addr != 0;
    if (routes) fclose(routes);
    return found && inet_ntop(AF_INET, &gateway, text, INET_ADDRSTRLEN) != NULL;
}
