// Stands in for BIND's dig.exe and nslookup.exe, whose last release for Windows no registry carries. It asks Windows' own resolver for what
// upstream's tests ask:
//   dig [+tcp|+notcp] [+short] [+...] NAME [TYPE]   prints answers, and ends with 0 without any, as dig does
//   nslookup NAME                                   ends with 1 where there is no address
#include <winsock2.h>
#include <ws2tcpip.h>
// After the former.
#include <windns.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char* name;
    WORD type;
} Types[] = {{"A", DNS_TYPE_A}, {"AAAA", DNS_TYPE_AAAA}, {"CNAME", DNS_TYPE_CNAME}, {"PTR", DNS_TYPE_PTR}, {"SRV", DNS_TYPE_SRV}};

static WORD type_of(const char* word) {
    for (size_t i = 0; i < sizeof Types / sizeof *Types; ++i)
        if (_stricmp(word, Types[i].name) == 0) return Types[i].type;
    return 0;
}

static void print_data(const DNS_RECORDA* record) {
    char text[64];
    DWORD size = sizeof text;
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    const unsigned char* four = (const unsigned char*)&record->Data.A.IpAddress;
    switch (record->wType) {
        case DNS_TYPE_A: printf("%u.%u.%u.%u\n", four[0], four[1], four[2], four[3]); break;
        case DNS_TYPE_AAAA:
            memcpy(&six.sin6_addr, &record->Data.AAAA.Ip6Address, sizeof six.sin6_addr);
            if (WSAAddressToStringA((struct sockaddr*)&six, sizeof six, NULL, text, &size) == 0) puts(text);
            break;
        case DNS_TYPE_CNAME:
        case DNS_TYPE_PTR: printf("%s.\n", record->Data.PTR.pNameHost); break;
        case DNS_TYPE_SRV:
            printf("%u %u %u %s.\n", record->Data.SRV.wPriority, record->Data.SRV.wWeight, record->Data.SRV.wPort, record->Data.SRV.pNameTarget);
            break;
        default: printf("type %u\n", record->wType);
    }
}

// The number of answers.
static int ask(const char* name, WORD type, DWORD options, int brief) {
    DNS_RECORDA* found = NULL;
    int answers = 0;
    if (DnsQuery_A(name, type, options | DNS_QUERY_BYPASS_CACHE, NULL, (PDNS_RECORD*)&found, NULL) != ERROR_SUCCESS) return 0;
    for (const DNS_RECORDA* record = found; record; record = record->pNext) {
        if (record->Flags.S.Section != DnsSectionAnswer) continue;
        ++answers;
        if (!brief) printf("%s. %lu IN ", record->pName, record->dwTtl);
        print_data(record);
    }
    DnsRecordListFree((PDNS_RECORD)found, DnsFreeRecordList);
    return answers;
}

int main(int count, char** words) {
    const int is_dig = strstr(words[0], "dig") != NULL && strstr(words[0], "nslookup") == NULL;
    const char* name = NULL;
    WORD type = DNS_TYPE_A;
    DWORD options = DNS_QUERY_STANDARD;
    int brief = !is_dig;
    WSADATA data;
    WSAStartup(MAKEWORD(2, 2), &data);
    for (int i = 1; i < count; ++i) {
        if (strcmp(words[i], "+tcp") == 0) options |= DNS_QUERY_USE_TCP_ONLY;
        else if (strcmp(words[i], "+short") == 0) brief = 1;
        else if (words[i][0] == '+') continue;
        else if (name && type_of(words[i])) type = type_of(words[i]);
        else name = words[i];
    }
    if (!name) return 1;
    const int answers = ask(name, type, options, brief) + (is_dig ? 0 : ask(name, DNS_TYPE_AAAA, options, brief));
    if (!is_dig && answers == 0) fprintf(stderr, "** server can't find %s: NXDOMAIN\n", name);
    return !is_dig && answers == 0;
}
