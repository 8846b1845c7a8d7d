/* The attempts of `porthole net verify` on Linux: check NUMBER=http://… NUMBER=ping:HOST NUMBER=ping:gateway … makes all at once, each within AttemptSeconds,
 * and prints "check NUMBER pass" or "check NUMBER fail" for each.
 */
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { AttemptSeconds = 5, PacketLimit = 1500 };

int fetch_main(int count, char** words);

static unsigned short checksum_of(const struct icmphdr* packet) {
    const unsigned short* words = (const unsigned short*)packet;
    unsigned sum = 0;
    for (size_t i = 0; i < sizeof *packet / sizeof *words; ++i) sum += words[i];
    sum = (sum >> 16) + (sum & 0xffff);
    return (unsigned short)~(sum + (sum >> 16));
}

/* 0 once the host has answered; waits as long as it takes. */
static int ping(const char* host) {
    const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_RAW, .ai_protocol = IPPROTO_ICMP};
    struct addrinfo* target = NULL;
    const int peer = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
    if (peer < 0 || getaddrinfo(host, NULL, &hints, &target) != 0) return 1;
    struct icmphdr request = {.type = ICMP_ECHO, .un.echo.id = (unsigned short)getpid()};
    request.checksum = checksum_of(&request);
    if (connect(peer, target->ai_addr, target->ai_addrlen) != 0 || send(peer, &request, sizeof request, 0) < 0) return 1;
    for (unsigned char packet[PacketLimit];;) {
        const ssize_t size = recv(peer, packet, sizeof packet, 0);
        if (size < 0) return 1;
        const size_t head = (size_t)(packet[0] & 15) * 4;
        struct icmphdr answer;
        if ((size_t)size < head + sizeof answer) continue;
        memcpy(&answer, packet + head, sizeof answer);
        if (answer.type == ICMP_ECHOREPLY && answer.un.echo.id == request.un.echo.id) return 0;
    }
}

/* The address of the default route's gateway, in /proc/net/route in the machine's byte order; 0 where there is none. */
static in_addr_t default_gateway(void) {
    char line[256];
    unsigned destination, gateway;
    FILE* routes = fopen("/proc/net/route", "r");
    while (routes && fgets(line, sizeof line, routes))
        if (sscanf(line, "%*s %x %x", &destination, &gateway) == 2 && destination == 0) return gateway;
    return 0;
}

static int ping_gateway(void) {
    const struct in_addr address = {.s_addr = default_gateway()};
    return address.s_addr == 0 ? 1 : ping(inet_ntoa(address));
}

static int attempt(char* target) {
    alarm(AttemptSeconds);
    if (strcmp(target, "ping:gateway") == 0) return ping_gateway();
    if (strncmp(target, "ping:", 5) == 0) return ping(target + 5);
    if (!freopen("/dev/null", "w", stdout)) return 1;
    return fetch_main(2, (char*[]){"fetch", target, NULL});
}

int main(int count, char** words) {
    pid_t* attempts = calloc((size_t)count, sizeof *attempts);
    for (int i = 1; i < count; ++i) {
        char* target = strchr(words[i], '=');
        if (!target) {
            fprintf(stderr, "usage: check NUMBER=http://HOST[:PORT][/PATH]|NUMBER=ping:HOST...\n");
            return 2;
        }
        *target++ = 0;
        attempts[i] = fork();
        if (attempts[i] == 0) _exit(attempt(target));
    }
    for (int i = 1; i < count; ++i) {
        int status = 1;
        if (attempts[i] > 0) waitpid(attempts[i], &status, 0);
        printf("check %s %s\n", words[i], status == 0 ? "pass" : "fail");
    }
    return 0;
}
