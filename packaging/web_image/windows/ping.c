#include "../ping.h"

#include <winsock2.h>
#include <ws2tcpip.h>

#include <iphlpapi.h>
#include <stdio.h>

#include <icmpapi.h> /* after what it forgets to include */

int ping(const char* host, int milliseconds) {
    struct in_addr target;
    /* The answer, and 8 bytes for an ICMP error, as the function asks for. */
    struct {
        ICMP_ECHO_REPLY reply;
        char rest[64];
    } answer;
    if (inet_pton(AF_INET, host, &target) != 1) return 1;
    const HANDLE icmp = IcmpCreateFile();
    if (icmp == INVALID_HANDLE_VALUE) return 1;
    const DWORD count = IcmpSendEcho(icmp, target.s_addr, "porthole", 8, NULL, &answer, sizeof answer, (DWORD)milliseconds);
    IcmpCloseHandle(icmp);
    /* "Host unreachable" counts as an answer. */
    return count > 0 && answer.reply.Status == IP_SUCCESS ? 0 : 1;
}

int find_gateway(char* text) {
    MIB_IPFORWARDROW route;
    if (GetBestRoute(0, 0, &route) != NO_ERROR || route.dwForwardNextHop == 0) return 0;
    const struct in_addr address = {.s_addr = route.dwForwardNextHop};
    return snprintf(text, INET_ADDRSTRLEN, "%s", inet_ntoa(address)) > 0;
}
