/* gateway prints the address of the default gateway, of which Windows' own programs speak in the user's language. Ends with 1 where there is
 * none.
 */
#include <winsock2.h>
#include <ws2tcpip.h>

#include <iphlpapi.h>
#include <stdio.h>

int main(void) {
    MIB_IPFORWARDROW route;
    if (GetBestRoute(0, 0, &route) != NO_ERROR || route.dwForwardNextHop == 0) return 1;
    const struct in_addr address = {.s_addr = route.dwForwardNextHop};
    printf("%s\n", inet_ntoa(address));
    return 0;
}
