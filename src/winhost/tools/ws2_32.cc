// ws2_32.dll in front of Wine's, which stands beside it as wine_ws2_32.dll and has all functions but those of ws2_32.def with a name of
// ours. Wine 8 lacks three things: SIO_UDP_NETRESET, which Go's run time sets on every UDP socket since 1.23, and SIO_LOOPBACK_FAST_PATH,
// which Redis sets on every listening one, both giving the socket up where that fails; and sockets of the family AF_UNIX
// (local_sockets_windows.h).
#include "winhost/tools/local_sockets_windows.h"

using porthole::winhost::LocalSockets;
using porthole::winhost::wine_function;

namespace {

LocalSockets* const local_sockets = new LocalSockets;  // for as long as the process

constexpr DWORD UdpNetReset = _WSAIOW(IOC_VENDOR, 15), LoopbackFastPath = _WSAIOW(IOC_VENDOR, 16);

/// The type of the sockets on which this changes nothing that a program sees; 0: there is something to do.
int sockets_left_as_they_are(DWORD code, const void* input, DWORD size) {
    if (!input || size < sizeof(BOOL)) return 0;
    // That nothing be reported is what sockets of Wine do in any case: Linux tells only connected ones that a network cannot be reached.
    if (code == UdpNetReset) return *static_cast<const BOOL*>(input) ? 0 : SOCK_DGRAM;
    return code == LoopbackFastPath ? SOCK_STREAM : 0;  // which is about speed alone
}

bool is_local(SOCKET socket, const sockaddr* name, int size) {
    return name && size >= static_cast<int>(sizeof name->sa_family) && name->sa_family == AF_UNIX && local_sockets->has(socket);
}

/// A socket of `family`, made by `make(family, protocol)`.
template <class Make>
SOCKET make_socket(int family, int type, int protocol, const Make& make) {
    if (family != AF_UNIX) {
        const SOCKET made = make(family, protocol);
        if (made != INVALID_SOCKET) local_sockets->remove(made);  // one of ours that was closed as a handle, not as a socket
        return made;
    }
    if (type != SOCK_STREAM || protocol != 0) {
        SetLastError(type != SOCK_STREAM ? WSAESOCKTNOSUPPORT : WSAEPROTONOSUPPORT);
        return INVALID_SOCKET;
    }
    const SOCKET made = make(AF_INET, IPPROTO_TCP);
    if (made != INVALID_SOCKET) local_sockets->add(made);
    return made;
}

}  // namespace

extern "C" SOCKET WSAAPI shim_socket(int family, int type, int protocol) {
    static const auto Wine = wine_function<decltype(&::socket)>("socket");
    return make_socket(family, type, protocol, [&](int as, int by) { return Wine(as, type, by); });
}
extern "C" SOCKET WSAAPI shim_socket_a(int family, int type, int protocol, WSAPROTOCOL_INFOA* info, GROUP group, DWORD flags) {
    static const auto Wine = wine_function<decltype(&WSASocketA)>("WSASocketA");
    return make_socket(family, type, protocol, [&](int as, int by) { return Wine(as, type, by, info, group, flags); });
}
extern "C" SOCKET WSAAPI shim_socket_w(int family, int type, int protocol, WSAPROTOCOL_INFOW* info, GROUP group, DWORD flags) {
    static const auto Wine = wine_function<decltype(&WSASocketW)>("WSASocketW");
    return make_socket(family, type, protocol, [&](int as, int by) { return Wine(as, type, by, info, group, flags); });
}
extern "C" int WSAAPI shim_bind(SOCKET socket, const sockaddr* name, int size) {
    static const auto Wine = wine_function<decltype(&::bind)>("bind");
    return is_local(socket, name, size) ? local_sockets->bind(socket, name, size) : Wine(socket, name, size);
}
extern "C" int WSAAPI shim_connect(SOCKET socket, const sockaddr* name, int size) {
    static const auto Wine = wine_function<decltype(&::connect)>("connect");
    return is_local(socket, name, size) ? local_sockets->connect(socket, name, size) : Wine(socket, name, size);
}
extern "C" int WSAAPI shim_wsa_connect(SOCKET socket, const sockaddr* name, int size, WSABUF* sent, WSABUF* received, QOS* one,
                                       QOS* group) {
    static const auto Wine = wine_function<decltype(&WSAConnect)>("WSAConnect");
    if (is_local(socket, name, size)) return local_sockets->connect(socket, name, size);
    return Wine(socket, name, size, sent, received, one, group);
}
extern "C" int WSAAPI shim_getsockname(SOCKET socket, sockaddr* name, int* size) {
    static const auto Wine = wine_function<decltype(&::getsockname)>("getsockname");
    return local_sockets->has(socket) && name && size ? local_sockets->name(socket, false, name, size) : Wine(socket, name, size);
}
extern "C" int WSAAPI shim_getpeername(SOCKET socket, sockaddr* name, int* size) {
    static const auto Wine = wine_function<decltype(&::getpeername)>("getpeername");
    return local_sockets->has(socket) && name && size ? local_sockets->name(socket, true, name, size) : Wine(socket, name, size);
}
extern "C" int WSAAPI shim_closesocket(SOCKET socket) {
    static const auto Wine = wine_function<decltype(&::closesocket)>("closesocket");
    local_sockets->remove(socket);
    return Wine(socket);
}

extern "C" int WSAAPI shim_ioctl(SOCKET socket, DWORD code, void* input, DWORD input_size, void* output, DWORD output_size, DWORD* returned,
                                 WSAOVERLAPPED* overlapped, LPWSAOVERLAPPED_COMPLETION_ROUTINE completion) {
    static const auto Wine = wine_function<decltype(&WSAIoctl)>("WSAIoctl");
    int kind = 0, size = sizeof kind;
    if (const int unchanged = overlapped ? 0 : sockets_left_as_they_are(code, input, input_size)) {
        static const auto Option = wine_function<decltype(&::getsockopt)>("getsockopt");
        if (Option(socket, SOL_SOCKET, SO_TYPE, reinterpret_cast<char*>(&kind), &size) == 0 && kind == unchanged) {
            if (returned) *returned = 0;
            return 0;
        }
    }
    return Wine(socket, code, input, input_size, output, output_size, returned, overlapped, completion);
}
